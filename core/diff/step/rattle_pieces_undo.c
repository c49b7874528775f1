// Differentiates the two-stage flow piece by piece, from the last piece to the first. Handles whole
// steps of islands without contacts, and single pieces of event stepping.
#include "diff/joints/joint_vjp.h"
#include "diff/step/rattle_undo.h"

#include <string.h>

// `choices` are the chosen contact points, or NULL if there are none.
static S2RattlePiece piece_make(S2Undo *undo, S2Island *island, const S2LawFrame *frame,
                                const S2RattleRecord *record, const S2Note *note, int k,
                                const S2Choice *choices) {
  int rows = note->rattle.rows;
  S2Arena *arena = undo->arena;
  int nodes = 3 * island->nodes, slots = 3 * undo->world->bodies.count;
  double *numbers = S2_TAKE_ZEROED(arena, double, 4 * nodes + 10 * rows + 2 * slots);
  double *of_rows = numbers + 4 * (size_t)nodes;
  S2RattlePiece piece = {
      .undo = undo,
      .rattle = s2_rattle_again(&undo->step, island, frame, record, choices),
      .event = choices != NULL,
      .pair = S2_TAKE_ZEROED(arena, S2TouchBar, island->touches),
      .half = record->h / 2,
      .u_bar = numbers,
      .v0_bar = numbers + nodes,
      .v1_bar = numbers + 2 * (size_t)nodes,
      .p = numbers + 3 * (size_t)nodes,
      .l_bar = of_rows,
      .y = of_rows + rows,
      .c2 = of_rows + 2 * (size_t)rows,
      .b2 = of_rows + 3 * (size_t)rows,
      .share = {of_rows + 4 * (size_t)rows, of_rows + 5 * (size_t)rows},
      .give = {of_rows + 6 * (size_t)rows, of_rows + 7 * (size_t)rows},
      .unit = {of_rows + 8 * (size_t)rows, of_rows + 9 * (size_t)rows},
      .q1_bar = of_rows + 10 * (size_t)rows,
      .mix = (double(*)[S2_JOINT_EQUATIONS])S2_TAKE(arena, double, S2_JOINT_EQUATIONS *rows),
      .at0 = S2_TAKE_ZEROED(arena, S2RowBar, rows),
      .at1 = S2_TAKE_ZEROED(arena, S2RowBar, rows),
      .note = note,
      .laws = note->rattle.laws / (2 * note->rattle.pieces),
      .lawful = S2_TAKE_ZEROED(arena, bool, island->nodes),
      .edge = {S2_TAKE_ZEROED(arena, bool, rows), S2_TAKE_ZEROED(arena, bool, rows)}};
  for (int r = 0; r < rows; r++) {
    memcpy(piece.mix[r], piece.rattle.term[r].mix, sizeof piece.mix[r]);
  }
  // The values that force laws returned in this piece.
  piece.answers = piece.laws > 0 ? note->rattle.answers + (ptrdiff_t)(2 * piece.laws * k) : NULL;
  for (int i = 0; i < piece.laws; i++) {
    piece.lawful[undo->step.node_of[piece.answers[i].slot]] = true;
  }
  piece.q0_bar = piece.q1_bar + slots;
  return piece;
}

// Adds the adjoints of the state at the start of the piece.
static void piece_gather(const S2RattlePiece *piece, double *q_bar, double *v_bar) {
  const S2Rattle *rattle = &piece->rattle;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    q_bar[i] += piece->q0_bar[3 * rattle->island->node[i / 3] + i % 3];
    v_bar[i] += piece->v0_bar[i];
  }
}

// Sets a flag if a compliance of 0 is a parameter.
static void flag_zeros(const S2Undo *undo, const S2Island *island) {
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    s2_joint_zero_flag(&undo->world->joints.at[slot], slot, undo->gradient);
  }
}

void s2_undo_rattle(S2Undo *undo, const S2Note *note) {
  S2Island *island = &note->of->island;
  flag_zeros(undo, island);
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  S2Step *step = &undo->step;
  int nodes = 3 * island->nodes, rows = note->rattle.rows;
  int size = s2_rattle_record_size(island->nodes, rows, s2_island_rebounds(step, island));
  double *q_bar = S2_TAKE(undo->arena, double, nodes), *v_bar = S2_TAKE(undo->arena, double, nodes);
  S2LawFrame frame = {step->q0, step->v0, step->free_v, 0};
  step->dt = note->h;
  // Set up the nodes of the island, and take the adjoints of their final state.
  for (int i = 0; i < nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    step->node_of[at / 3] = i / 3;
    q_bar[i] = undo->flowed_q1[at];
    v_bar[i] = undo->flowed_v2[at];
    undo->flowed_q1[at] = undo->flowed_v2[at] = 0;
  }
  // Process the pieces from the last to the first.
  bool good = true;
  double next_bar = 0; // adjoint of the end time of a piece, from the piece that follows
  for (int k = note->rattle.pieces - 1; k >= 0 && good; k--) {
    S2ArenaMark before = s2_arena_mark(undo->arena);
    S2RattleRecord record =
        s2_rattle_record(note->rattle.piece + (size_t)(k * size), island->nodes, rows);
    S2RattlePiece piece = piece_make(undo, island, &frame, &record, note, k, NULL);
    for (int i = 0; i < nodes; i++) {
      piece.q1_bar[3 * island->node[i / 3] + i % 3] = q_bar[i];
      piece.v1_bar[i] = v_bar[i];
    }
    good = s2_rattle_piece_vjp(&piece);
    memset(q_bar, 0, sizeof *q_bar * (size_t)nodes);
    memset(v_bar, 0, sizeof *v_bar * (size_t)nodes);
    piece_gather(&piece, q_bar, v_bar);
    // The end time of the piece is proportional to the step length. If a limit ends the piece, it
    // depends on the state and on the limit.
    double end_bar = piece.end_bar + next_bar;
    next_bar = piece.start_bar;
    if (record.met < 0) {
      undo->length_bar += (record.done + record.h) / step->dt * end_bar;
    } else if (good) {
      S2RattlePiece timing = piece_make(undo, island, &frame, &record, note, k, NULL);
      timing.unasked = true; // only the value of the limit has an adjoint
      timing.timing_bar = -end_bar / record.rises;
      // There is no derivative if the motion only touches the limit.
      good = record.rises < 0 && s2_rattle_piece_vjp(&timing);
      piece_gather(&timing, q_bar, v_bar);
      next_bar += timing.start_bar;
    }
    good = good && (k > 0 || s2_rattle_placings_vjp(&piece, q_bar));
    s2_arena_rewind(undo->arena, before);
  }
  s2_undo_forget_joints(undo, note);
  undo->gradient->flags |= good ? 0 : S2_GRADIENT_SINGULAR;
  for (int i = 0; i < nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    undo->bar.q0[at] += good ? q_bar[i] : 0;
    undo->bar.v0[at] += good ? v_bar[i] : 0;
    step->node_of[at / 3] = S2_GROUND;
  }
  s2_arena_rewind(undo->arena, mark);
}

// A piece of event stepping.
void s2_undo_piece(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  s2_undo_set_island(undo, note);
  S2Island *island = &note->of->island;
  S2StepAdjoint *bar = &undo->bar;
  const S2Note *start = s2_undo_last(undo, S2_ACT_FREE);
  int nodes = 3 * island->nodes;
  double done = note->t - undo->world->kept.time;
  S2LawFrame frame = {start->free.q0, start->free.v0, undo->step.free_v, done};
  S2RattleRecord record = s2_rattle_record(note->rattle.piece, island->nodes, note->rattle.rows);
  S2RattlePiece piece = piece_make(undo, island, &frame, &record, note, 0, undo->open.choices);
  for (int i = 0; i < nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    piece.q1_bar[at] = bar->q1[at];
    piece.v1_bar[i] = bar->v1[at];
    bar->q1[at] = bar->v1[at] = 0;
  }
  // Sweep backwards over both stages, then over the pose correction that preceded them.
  piece.timing_bar = undo->closing;
  undo->closing = 0;
  bool good = s2_rattle_piece_vjp(&piece);
  double *q_bar = S2_TAKE_ZEROED(undo->arena, double, nodes);
  double *v_bar = S2_TAKE_ZEROED(undo->arena, double, nodes);
  piece_gather(&piece, q_bar, v_bar);
  bar->h += good ? piece.end_bar : 0;
  good = good && s2_rattle_placings_vjp(&piece, q_bar);
  undo->gradient->flags |= good ? 0 : S2_GRADIENT_SINGULAR;
  for (int i = 0; i < nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    bar->q0[at] += good ? q_bar[i] : 0;
    bar->v0[at] += good ? v_bar[i] : 0;
  }
  s2_undo_forget_joints(undo, note);
  s2_undo_forget_contacts(undo, note);
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(undo->arena, mark);
}

void s2_undo_flowed(S2Undo *undo, const S2Note *note) {
  s2_undo_move_nodes(note, undo->bar.q1, undo->flowed_q1);
  s2_undo_move_nodes(note, undo->bar.v2, undo->flowed_v2);
  for (int i = 0; i < note->of->island.nodes; i++) { // no act reads the mean velocity
    memset(undo->bar.v1 + 3 * note->of->island.node[i], 0, 3 * sizeof(double));
  }
}
