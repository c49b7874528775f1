#include "diff/linear/lines.h"

#include "dynamics/joints/joint.h"

#include <string.h>

// Part of a row, each number times the square root of what it moves, that must be left beside the
// rows before it for a row of its own. Rows that repeat each other leave 1e-15.
static const double INDEPENDENT = 1e-7;

S2Lines s2_lines_of(const S2World *world, S2Arena *arena) {
  S2Lines lines = {world, arena, 0, S2_TAKE(arena, int32_t, world->bodies.count + 1)};
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    bool moves = s2_body_yields(&world->bodies.at[slot]);
    lines.column[slot] = moves ? lines.n : S2_NONE;
    lines.n += moves ? 3 : 0;
  }
  return lines;
}

S2Line s2_lines_new(const S2Lines *lines) {
  return (S2Line){.j = S2_TAKE_ZEROED(lines->arena, double, lines->n + 1),
                  .turn = S2_TAKE_ZEROED(lines->arena, double, lines->n + 1),
                  .slot = {S2_NONE, S2_NONE}};
}

void s2_line_bend(const S2Lines *lines, const S2Line *line, double factor, const double *w,
                  double *out) {
  for (int i = 0; i < 6; i++) {
    int32_t to = line->slot[i / 3] == S2_NONE ? S2_NONE : lines->column[line->slot[i / 3]];
    for (int k = 0; k < 6 && to != S2_NONE; k++) {
      int32_t from = line->slot[k / 3] == S2_NONE ? S2_NONE : lines->column[line->slot[k / 3]];
      out[to + i % 3] += from == S2_NONE ? 0 : factor * line->bend.at[k][i] * w[from + k % 3];
    }
  }
}

void s2_line_add_slot(const S2Lines *lines, S2Line *line, int32_t slot, const double j[3]) {
  for (int c = 0; c < 3 && slot != S2_NONE; c++) {
    if (lines->column[slot] == S2_NONE) {
      line->rest += j[c] * lines->world->v.at[3 * slot + c];
    } else {
      line->j[lines->column[slot] + c] += j[c];
    }
  }
}

// How the line turns with the velocities there are.
static void line_turn(const S2Lines *lines, S2Line *line) {
  memset(line->turn, 0, sizeof(double) * (size_t)lines->n);
  for (int i = 0; i < 6; i++) {
    int32_t to = line->slot[i / 3];
    if (to == S2_NONE || lines->column[to] == S2_NONE) {
      continue;
    }
    double *turn = &line->turn[lines->column[to] + i % 3];
    for (int k = 0; k < 6; k++) {
      int32_t from = line->slot[k / 3];
      *turn += from == S2_NONE ? 0 : line->bend.at[k][i] * lines->world->v.at[3 * from + k % 3];
    }
  }
}

void s2_lines_retune(S2LineSystem *system) {
  for (int i = 0; i < system->lines.n; i++) {
    line_turn(&system->lines, &system->line[i]);
  }
}

// A row of a joint and its Hessian.
static void line_add_row(const S2Lines *lines, S2Line *line, const S2Joint *joint,
                         const S2JointRow *row, const S2JointHessian *hessian) {
  const int32_t slot[2] = {joint->a, joint->b};
  s2_line_add_slot(lines, line, joint->a, row->ja);
  s2_line_add_slot(lines, line, joint->b, row->jb);
  for (int i = 0; i < 2 && joint->more[i] != S2_NONE; i++) {
    const double angle[3] = {row->more[i], 0, 0};
    s2_line_add_slot(lines, line, joint->more[i], angle);
  }
  line->rest += row->rate;
  line->value = row->value;
  line->slot[0] = slot[0];
  line->slot[1] = slot[1];
  line->bend = *hessian;
  line_turn(lines, line);
}

static S2JointAt line_joint_at(const S2World *world, const S2Joint *joint) {
  return (S2JointAt){.world = world, .joint = joint, .q = world->q.at};
}

// ---- Rigid rows -------------------------------------------------------------------------------

// Returns how many; combinations of the joint's equations where it has matrices.
static int line_rigid_of(const S2Lines *lines, const S2Joint *joint,
                         S2Line out[S2_JOINT_EQUATIONS]) {
  S2JointAt at = line_joint_at(lines->world, joint);
  S2JointRow rows[S2_JOINT_EQUATIONS] = {0};
  S2JointHessian hessians[S2_JOINT_EQUATIONS] = {0};
  S2SoftRow soft[S2_JOINT_EQUATIONS] = {0};
  int count = s2_joint_rows(&at, rows), rigid = 0;
  s2_joint_hessians(&at, hessians);
  bool all = s2_joint_is_rigid(joint);
  // Where the joint has matrices, what gives no way is a combination of its equations.
  if (!all) {
    s2_joint_soften(joint, rows, count, s2_joint_blend(&lines->world->kept.def, 0), soft);
  }
  for (int i = 0; i < count; i++) {
    if (!all && !soft[i].rigid) {
      continue;
    }
    // The same combination of the Hessians.
    S2JointHessian hessian = {0};
    for (int k = 0; k < count; k++) {
      double part = all ? (i == k) : soft[i].mix[k];
      for (int e = 0; e < 36; e++) {
        hessian.at[e / 6][e % 6] += part * hessians[k].at[e / 6][e % 6];
      }
    }
    out[rigid] = s2_lines_new(lines);
    line_add_row(lines, &out[rigid++], joint, all ? &rows[i] : &soft[i].row, &hessian);
  }
  return rigid;
}

// ---- Coordinates ------------------------------------------------------------------------------

int s2_line_parts_of(const S2Joint *joint) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  return kind->drive != NULL && kind->drive != kind->coordinate ? 2 : kind->coordinate != NULL;
}

static S2Line line_of_joint(const S2Lines *lines, const S2Joint *joint, int part) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointAt at = line_joint_at(lines->world, joint);
  S2JointRow row = {0};
  S2JointHessian hessian = {0};
  (part == 0 ? kind->coordinate : kind->drive)(&at, &row, &hessian);
  S2Line line = s2_lines_new(lines);
  line_add_row(lines, &line, joint, &row, &hessian);
  return line;
}

S2Line s2_line_of_coordinate(const S2Lines *lines, const S2Coordinate *coordinate) {
  if (coordinate->joint.index != 0) {
    return line_of_joint(lines, &lines->world->joints.at[coordinate->joint.index - 1],
                         coordinate->part);
  }
  S2Line line = s2_lines_new(lines);
  double j[3] = {0, 0, 0};
  int32_t slot = (int32_t)coordinate->body.index - 1;
  j[coordinate->part] = 1;
  s2_line_add_slot(lines, &line, slot, j);
  line.value = lines->world->q.at[3 * slot + coordinate->part];
  return line;
}

// ---- Which rows are independent ---------------------------------------------------------------

bool s2_basis_extend(S2Basis *basis, const double *row) {
  double size = 0, left = 0, *x = basis->try;
  // Numbers over roots of masses, so that lengths and angles compare.
  for (int i = 0; i < basis->n; i++) {
    x[i] = row[i] / basis->scale[i];
    size += x[i] * x[i];
  }
  // What the basis has is taken out (Gram, Schmidt).
  for (int pass = 0; pass < 2; pass++) { // twice is enough
    for (int k = 0; k < basis->count; k++) {
      const double *e = basis->at + k * basis->n;
      double along = 0;
      // Is anything left beyond rounding?
      for (int i = 0; i < basis->n; i++) {
        along += e[i] * x[i];
      }
      for (int i = 0; i < basis->n; i++) {
        x[i] -= along * e[i];
      }
    }
  }
  for (int i = 0; i < basis->n; i++) {
    left += x[i] * x[i];
  }
  if (basis->count == basis->n || !(left > INDEPENDENT * INDEPENDENT * size)) {
    return false;
  }
  for (int i = 0; i < basis->n; i++) {
    basis->at[basis->count * basis->n + i] = x[i] / sqrt(left);
  }
  // It is the next vector.
  basis->count += 1;
  return true;
}

S2Basis s2_basis_new(const S2Lines *lines) {
  int n = lines->n;
  double *scale = S2_TAKE(lines->arena, double, n + 1);
  for (int i = 0; i < lines->world->order.count; i++) {
    int32_t slot = lines->world->order.at[i], at = lines->column[slot];
    const S2Body *body = &lines->world->bodies.at[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      scale[at + c] = sqrt(c == 0 ? body->inertia : body->mass);
    }
  }
  return (S2Basis){n, 0, S2_TAKE(lines->arena, double, n *n + 1), scale,
                   S2_TAKE(lines->arena, double, n + 1)};
}

int s2_basis_constrain(const S2Lines *lines, S2Basis *basis, S2Line *kept) {
  const S2World *world = lines->world;
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    S2Line rigid[S2_JOINT_EQUATIONS];
    int count = s2_joint_active(world, joint) ? line_rigid_of(lines, joint, rigid) : 0;
    for (int k = 0; k < count; k++) {
      if (s2_basis_extend(basis, rigid[k].j)) {
        kept[basis->count - 1] = rigid[k];
      }
    }
  }
  return basis->count;
}

// ---- The square system --------------------------------------------------------------------------

S2Status s2_lines_solve_for(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            S2LineSystem *system) {
  *system = (S2LineSystem){.lines = s2_lines_of(world, arena)};
  int n = reduction->n;
  system->line = S2_TAKE(arena, S2Line, n + 1);
  // The rows: independent rigid ones, then the coordinates.
  S2Basis basis = s2_basis_new(&system->lines);
  system->rigid = s2_basis_constrain(&system->lines, &basis, system->line);
  if (system->rigid + reduction->m != n) { // a state where joints repeat each other otherwise
    return s2_error(S2_INVALID,
                    "coordinates: joints are in a position where %d motions are free, "
                    "not %d",
                    n - system->rigid, reduction->m);
  }
  // K, its columns by rows of lines, factored.
  system->factor = (S2Dense){.size = n,
                             .nonsymmetric = true,
                             .a = S2_TAKE(arena, double, n *n + 1),
                             .pivot = S2_TAKE(arena, int32_t, n + 1)};
  for (int i = 0; i < n; i++) {
    if (i >= system->rigid) {
      system->line[i] =
          s2_line_of_coordinate(&system->lines, &reduction->coordinate[i - system->rigid]);
    }
    for (int k = 0; k < n; k++) {
      system->factor.a[k * n + i] = system->line[i].j[k];
    }
  }
  return s2_dense_factor(&system->factor)
             ? s2_ok()
             : s2_error(S2_INVALID, "coordinates: they do not tell the motions apart");
}
