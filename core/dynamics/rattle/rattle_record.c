// Writes and reads the record of a piece of the two-stage flow, for the derivative. The record is
// an array of numbers.
#include "dynamics/rattle/rattle.h"

#include <string.h>

bool s2_island_rebounds(const S2Step *step, const S2Island *island) {
  bool rebounds = false;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    rebounds |= joint->limit_lo < joint->limit_hi && joint->restitution > 0;
  }
  return rebounds;
}

S2RattleArrival s2_rattle_new_arrival(const S2Step *step, const S2Island *island, int rows) {
  if (!s2_island_rebounds(step, island)) {
    return (S2RattleArrival){0};
  }
  double *numbers = S2_TAKE_ZEROED(step->arena, double, 3 * island->nodes + 2 * rows);
  double *of_rows = numbers + 3 * (size_t)island->nodes;
  return (S2RattleArrival){false, numbers, of_rows, of_rows + rows,
                           S2_TAKE_ZEROED(step->arena, S2RattleState, rows)};
}

void s2_rattle_record_piece(const S2Rattle *rattle, double *to) {
  const double *const of_nodes[] = {rattle->v0, rattle->u, rattle->v1};
  int nodes = 3 * rattle->nodes;
  *to++ = rattle->h;
  *to++ = rattle->done;
  *to++ = rattle->met;
  *to++ = rattle->rises;
  *to++ = rattle->arrival.any;
  // Store the data of nodes, then the data of rows.
  for (int i = 0; i < nodes; i++) {
    *to++ = rattle->q0[3 * rattle->island->node[i / 3] + i % 3];
  }
  for (int i = 0; i < 3 * nodes; i++) {
    *to++ = of_nodes[i / nodes][i % nodes];
  }
  for (int r = 0; r < rattle->rows; r++) {
    to[r] = rattle->l[r];
    to[rattle->rows + r] = rattle->k[r];
    to[2 * rattle->rows + r] = rattle->first[r];
    to[3 * rattle->rows + r] = rattle->second[r];
  }
  const S2RattleArrival *arrival = &rattle->arrival;
  to += 4 * (ptrdiff_t)rattle->rows;
  for (int i = 0; i < nodes && arrival->any; i++) {
    to[i] = arrival->v[i];
  }
  for (int r = 0; r < rattle->rows && arrival->any; r++) {
    to[nodes + r] = arrival->k[r];
    to[nodes + rattle->rows + r] = arrival->back[r];
    to[nodes + 2 * rattle->rows + r] = arrival->state[r];
  }
}

void s2_rattle_write_record(const S2RattleRecord *from, int nodes, int rows, double *to) {
  const double *const of_nodes[] = {from->q0, from->v0, from->u, from->v1};
  const double *const of_rows[] = {from->l, from->k, from->first, from->second};
  const double head[] = {from->h, from->done, from->met, from->rises, 0};
  memcpy(to, head, sizeof head);
  to += 5;
  for (int i = 0; i < 4; i++, to += 3 * (ptrdiff_t)nodes) {
    memcpy(to, of_nodes[i], sizeof(double) * 3 * (size_t)nodes);
  }
  for (int i = 0; i < 4; i++, to += rows) {
    memcpy(to, of_rows[i], sizeof(double) * (size_t)rows);
  }
}

S2RattleRecord s2_rattle_record(const double *piece, int nodes, int rows) {
  const double *of_nodes = piece + 5, *of_rows = of_nodes + 12 * (size_t)nodes;
  size_t node = 3 * (size_t)nodes, row = (size_t)rows;
  return (S2RattleRecord){.h = piece[0],
                          .done = piece[1],
                          .met = (int)piece[2],
                          .rises = piece[3],
                          .q0 = of_nodes,
                          .v0 = of_nodes + node,
                          .u = of_nodes + 2 * node,
                          .v1 = of_nodes + 3 * node,
                          .l = of_rows,
                          .k = of_rows + row,
                          .first = of_rows + 2 * row,
                          .second = of_rows + 3 * row,
                          .arrival = piece[4] != 0 ? of_rows + 4 * row : NULL};
}

void s2_rattle_recall(S2Rattle *rattle, const S2RattleRecord *record) {
  for (int r = 0; r < rattle->rows; r++) {
    rattle->l[r] = record->l[r];
    rattle->k[r] = record->k[r];
    rattle->first[r] = (S2RattleState)record->first[r];
    rattle->second[r] = (S2RattleState)record->second[r];
  }
  // Store the arrival data of limits.
  S2RattleArrival *arrival = &rattle->arrival;
  const double *from = record->arrival;
  int nodes = 3 * rattle->nodes;
  arrival->any = record->arrival != NULL;
  for (int i = 0; i < nodes && arrival->any; i++) {
    arrival->v[i] = from[i];
  }
  for (int r = 0; r < rattle->rows && arrival->any; r++) {
    arrival->k[r] = from[nodes + r];
    arrival->back[r] = from[nodes + rattle->rows + r];
    arrival->state[r] = (S2RattleState)from[nodes + 2 * rattle->rows + r];
  }
}
