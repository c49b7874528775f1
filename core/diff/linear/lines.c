#include "diff/linear/lines.h"

#include "dynamics/control/control.h"
#include "dynamics/joints/joint.h"

#include <math.h>
#include <string.h>

// A row counts as independent if at least this fraction of its mass-weighted length remains after
// its components along earlier rows are removed. About 1e-15 remains of a redundant row.
static const double INDEPENDENT = 1e-7;
// The rows count as independent if the smallest pivot is at least this fraction of the largest. If
// they are dependent, rounding leaves about 1e-15.
static const double APART = 1e-13;

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
  int32_t column[2];
  for (int side = 0; side < 2; side++) {
    column[side] = line->slot[side] == S2_NONE ? S2_NONE : lines->column[line->slot[side]];
  }
  for (int to = 0; to < 2; to++) {
    for (int from = 0; from < 2 && column[to] != S2_NONE; from++) {
      for (int k = 0; k < 3 && column[from] != S2_NONE; k++) {
        double along = factor * w[column[from] + k];
        for (int i = 0; i < 3; i++) {
          out[column[to] + i] += line->bend.at[3 * from + k][3 * to + i] * along;
        }
      }
    }
  }
}

void s2_line_bend_along(const S2Lines *lines, const S2Line *line, double factor, double *out) {
  for (int from = 0; from < 2; from++) {
    int32_t slot = line->slot[from], other = line->slot[1 - from];
    int32_t column = other == S2_NONE ? S2_NONE : lines->column[other];
    if (slot == S2_NONE || lines->column[slot] != S2_NONE || column == S2_NONE) {
      continue;
    }
    for (int k = 0; k < 3; k++) {
      double along = factor * lines->world->v.at[3 * slot + k];
      for (int i = 0; i < 3; i++) {
        out[column + i] += line->bend.at[3 * from + k][3 * (1 - from) + i] * along;
      }
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

// The rate at which the line's gradient changes at the present velocities.
static void line_turn(const S2Lines *lines, S2Line *line) {
  memset(line->turn, 0, sizeof(double) * (size_t)lines->n);
  for (int to = 0; to < 2; to++) {
    int32_t column = line->slot[to] == S2_NONE ? S2_NONE : lines->column[line->slot[to]];
    for (int from = 0; from < 2 && column != S2_NONE; from++) {
      const double *v = lines->world->v.at + 3 * line->slot[from];
      for (int k = 0; k < 3 && line->slot[from] != S2_NONE; k++) {
        for (int i = 0; i < 3; i++) {
          line->turn[column + i] += line->bend.at[3 * from + k][3 * to + i] * v[k];
        }
      }
    }
  }
}

void s2_lines_retune(S2LineSystem *system) {
  for (int i = 0; i < system->count; i++) {
    line_turn(&system->lines, &system->line[i]);
  }
}

// Adds a row of a joint and its Hessian.
static void line_add_row(const S2Lines *lines, S2Line *line, const S2Joint *joint,
                         const S2JointRow *row, const S2JointHessian *hessian) {
  const int32_t slot[2] = {joint->a, joint->b};
  s2_line_add_slot(lines, line, joint->a, row->ja);
  s2_line_add_slot(lines, line, joint->b, row->jb);
  for (int i = 0; i < 2 && joint->more[i] != S2_NONE; i++) {
    s2_line_add_slot(lines, line, joint->more[i], row->more[i]);
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

// Collects the rigid rows of a joint and returns their number. Joints with matrices have
// combinations of their equations as rows.
static int line_rigid_of(const S2Lines *lines, const S2Joint *joint,
                         S2Line out[S2_JOINT_EQUATIONS]) {
  S2JointAt at = line_joint_at(lines->world, joint);
  S2JointRow rows[S2_JOINT_EQUATIONS] = {0};
  S2JointHessian hessians[S2_JOINT_EQUATIONS] = {0};
  S2SoftRow soft[S2_JOINT_EQUATIONS] = {0};
  int count = s2_joint_rows(&at, rows), rigid = 0;
  s2_joint_hessians(&at, hessians);
  bool all = s2_joint_is_rigid(joint);
  // If the joint has matrices, its rigid directions are combinations of its equations.
  if (!all) {
    s2_joint_soften(joint, rows, count, s2_joint_blend(&lines->world->kept.def, 0), soft);
  }
  for (int i = 0; i < count; i++) {
    if (!all && !soft[i].rigid) {
      continue;
    }
    // Combine the Hessians in the same way.
    S2JointHessian mixed = {0};
    for (int k = 0; k < count && !all; k++) {
      for (int e = 0; e < 36; e++) {
        mixed.at[e / 6][e % 6] += soft[i].mix[k] * hessians[k].at[e / 6][e % 6];
      }
    }
    out[rigid] = s2_lines_new(lines);
    line_add_row(lines, &out[rigid++], joint, all ? &rows[i] : &soft[i].row,
                 all ? &hessians[i] : &mixed);
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
  // Divide the entries by the roots of the masses. Lengths and angles are then comparable.
  for (int i = 0; i < basis->n; i++) {
    x[i] = row[i] / basis->scale[i];
    size += x[i] * x[i];
  }
  // Remove the components along the basis (Gram-Schmidt).
  for (int pass = 0; pass < 2; pass++) { // two passes are enough
    for (int k = 0; k < basis->count; k++) {
      const double *e = basis->at + k * basis->n;
      double along = 0;
      // The component along vector k.
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
  // The remainder is the next basis vector.
  basis->count += 1;
  return true;
}

void s2_input_push(const S2World *world, const S2Input *input, double push[3]) {
  memcpy(push, input->amount, sizeof input->amount);
  if (input->fixed) {
    S2Rot turned = s2_rot(world->q.at[3 * (input->body.index - 1)]);
    S2Vec2 along = s2_rotate(turned, s2_vec2(input->amount[1], input->amount[2]));
    push[1] = along.x;
    push[2] = along.y;
  }
}

// The derivative of a 1 N thruster force as its body turns.
static S2Line line_of_thrust(const S2Lines *lines, const S2ActuatorDef *def, bool backwards) {
  S2Line line = s2_lines_new(lines);
  int32_t slot = (int32_t)def->body.index - 1;
  S2Vec2 along = s2_rotate(s2_rot(lines->world->q.at[3 * slot]), def->direction);
  const double by_angle[3] = {0, -along.y, along.x};
  line.slot[0] = slot;
  for (int c = 1; c < 3; c++) {
    *(backwards ? &line.bend.at[c][0] : &line.bend.at[0][c]) = by_angle[c];
  }
  return line;
}

S2Status s2_turning_of(S2World *world, bool backwards, S2Arena *arena, S2Turning *turning) {
  int actuators = s2_world_actuator_count(world);
  *turning = (S2Turning){.lines = s2_lines_of(world, arena)};
  turning->line = S2_TAKE(arena, S2Line, actuators + 1);
  turning->u = S2_TAKE(arena, double, actuators + 1);
  turning->force = S2_TAKE(arena, double, turning->lines.n + 1);
  turning->by_pose = S2_TAKE(arena, double, turning->lines.n + 1);
  for (int i = 0; i < actuators; i++) {
    S2ActuatorDef def;
    int32_t slot;
    double since;
    S2_TRY(s2_actuator_info(world, i, &def));
    bool along = def.kind == S2_ACTUATOR_FORCE && def.joint.index != 0 &&
                 s2_joint_slot(world, def.joint, &slot).code == S2_OK;
    bool thrusts = def.fixed && s2_body_slot(world, def.body, &slot).code == S2_OK;
    double u = along || thrusts ? s2_actuator_held(world, i, &since) : 0;
    if (u != 0) {
      turning->line[turning->count] =
          along ? s2_line_of_coordinate(&turning->lines, &(S2Coordinate){.joint = def.joint})
                : line_of_thrust(&turning->lines, &def, backwards);
      turning->u[turning->count++] = u;
    }
  }
  return s2_ok();
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

// Takes all rigid rows if there are `wanted` of them, otherwise only the independent rows.
static int lines_constrain(const S2Lines *lines, int wanted, S2Line *line) {
  const S2World *world = lines->world;
  int rows = 0;
  for (int i = 0; i < world->joint_order.count && rows <= wanted; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    S2Line rigid[S2_JOINT_EQUATIONS];
    int count = s2_joint_active(world, joint) ? line_rigid_of(lines, joint, rigid) : 0;
    for (int k = 0; k < count; k++, rows++) {
      if (rows < wanted) {
        line[rows] = rigid[k];
      }
    }
  }
  if (rows == wanted) {
    return rows;
  }
  S2Basis basis = s2_basis_new(lines);
  return s2_basis_constrain(lines, &basis, line);
}

// Returns true if elimination finds a significant pivot in each row.
static bool lines_apart(const S2Dense *factor) {
  double most = 0, least = INFINITY;
  for (int i = 0; i < factor->size; i++) {
    double pivot = fabs(factor->a[i * factor->size + i]);
    most = pivot > most ? pivot : most;
    least = pivot < least ? pivot : least;
  }
  return factor->size == 0 || least > APART * most;
}

S2Status s2_lines_hold(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                       S2LineSystem *system) {
  *system = (S2LineSystem){.lines = s2_lines_of(world, arena)};
  int n = reduction->n, wanted = n - reduction->m;
  system->line = S2_TAKE(arena, S2Line, n + 1);
  system->rigid = system->count = lines_constrain(&system->lines, wanted, system->line);
  if (system->rigid != wanted) { // in a singular pose, other joints are redundant
    return s2_error(S2_INVALID,
                    "coordinates: in this position the joints leave %d motions free, not %d",
                    n - system->rigid, reduction->m);
  }
  return s2_ok();
}

S2Status s2_lines_solve_for(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            S2LineSystem *system) {
  int n = reduction->n;
  S2_TRY(s2_lines_hold(world, reduction, arena, system));
  // Factor K, which is stored by columns. Its rows are the rigid rows, followed by the coordinates.
  system->count = n;
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
  return s2_dense_factor(&system->factor) && lines_apart(&system->factor)
             ? s2_ok()
             : s2_error(S2_INVALID,
                        "coordinates: the given coordinates do not determine the motion");
}
