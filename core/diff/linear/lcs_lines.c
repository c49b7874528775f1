#include "diff/linear/lcs_lines.h"

#include "diff/joints/contact_vjp.h"
#include "dynamics/step/touch.h"

#include <math.h>
#include <string.h>

// ---- Worlds without an LCS --------------------------------------------------------------------

static S2Status lcs_check_joint(const S2World *world, int32_t slot) {
  const S2Joint *joint = &world->joints.at[slot];
  char label[S2_NAME_SIZE + 32];
  const char *why =
      joint->type == S2_GROUND_FRICTION ? "ground friction is limited to a disc, which the rows of "
                                          "an LCS cannot express: remove it"
      : joint->type == S2_CONSTRAINT    ? "custom constraints have no "
                                          "rows in an LCS: use a joint of the library"
      : s2_lock_yields(joint)
          ? "a lock with a bounded force has no rows in an LCS: leave out max_force and max_torque"
          : NULL;
  if (why == NULL) {
    return s2_ok();
  }
  s2_joint_label(world, slot, label);
  return s2_error(S2_INVALID, "lcs: %s: %s", label, why);
}

S2Status s2_lcs_check(const S2World *world) {
  // Reject settings for which a step is not a single problem of this form.
  const S2WorldDef *def = &world->kept.def;
  if (def->stabilization != S2_PROJECTION && def->stabilization != S2_NO_STABILIZATION) {
    return s2_error(S2_INVALID, "lcs: stabilization 'projection' or 'none' expected");
  }
  if (def->alpha < 1 || def->beta < 1) {
    return s2_error(S2_INVALID, "lcs: alpha = 1 and beta = 1 expected");
  }
  if (def->geometric_stiffness != S2_GEOMETRIC_OFF) {
    return s2_error(S2_INVALID, "lcs: geometric_stiffness 'off' expected");
  }
  if (def->restitution_model == S2_REFLECTIONS) {
    return s2_error(S2_INVALID, "lcs: restitution_model 'newton' expected");
  }
  if (def->contact == S2_CONVEX) {
    return s2_error(S2_INVALID, "lcs: contact 'coulomb' or 'frictionless' expected");
  }
  if (def->substeps > 1) {
    return s2_error(S2_INVALID,
                    "lcs: substeps = 1 expected, because an LCS describes one step problem");
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    if (!s2_joint_active(world, &world->joints.at[slot])) {
      continue;
    }
    S2_TRY(lcs_check_joint(world, slot));
  }
  return s2_ok();
}

// ---- Lines ------------------------------------------------------------------------------------

double s2_lcs_along(const S2LcsRows *rows, const S2LcsLine *line, const double *w) {
  double sum = line->line.rest;
  for (int i = 0; i < rows->lines.n; i++) {
    sum += line->line.j[i] * w[i];
  }
  return sum;
}

void s2_lcs_turn(const S2LcsRows *rows, const S2LcsLine *line, double factor, const double *w,
                 double *out) {
  s2_line_bend(&rows->lines, &line->line, factor, w, out);
  s2_line_bend_along(&rows->lines, &line->line, factor, out);
}

void s2_lcs_bend(const S2LcsRows *rows, const S2LcsLine *line, double factor, double *to) {
  const S2Lines *lines = &rows->lines;
  for (int k = 0; k < 36; k++) {
    int i = k / 6, j = k % 6;
    int32_t slot_i = line->line.slot[i / 3], slot_j = line->line.slot[j / 3];
    int32_t at_i = slot_i == S2_NONE ? S2_NONE : lines->column[slot_i];
    int32_t at_j = slot_j == S2_NONE ? S2_NONE : lines->column[slot_j];
    if (at_i != S2_NONE && at_j != S2_NONE) {
      to[(at_i + i % 3) * lines->n + at_j + j % 3] += factor * line->line.bend.at[i][j];
    }
  }
}

static int lcs_add_line(S2LcsRows *rows, const S2Line *line, double bias, double by_value) {
  rows->line[rows->line_count] = (S2LcsLine){.line = *line, .bias = bias, .by_value = by_value};
  return rows->line_count++;
}

static int lcs_add_row(S2LcsRows *rows, int line, double sign, int slack) {
  rows->row[rows->row_count] = (S2LcsRow){line, sign, slack};
  return rows->row_count++;
}

// ---- Contacts ---------------------------------------------------------------------------------

// Computes J along the normal or the tangent at point k, and its derivatives with respect to the
// poses of both bodies. These are the derivatives of J v for each of the six unit velocities v.
static S2Line lcs_contact_line(const S2Step *step, const S2Lines *lines, const S2Touch *touch,
                               int k, bool tangent, S2WorldGradient *gradient) {
  const S2World *world = step->world;
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  S2Vec2 normal = touch->points[k].at.normal, direction = tangent ? s2_left(normal) : normal;
  S2Line line = s2_lines_new(lines);
  size_t numbers = 3 * (size_t)world->bodies.count;
  double *v = S2_TAKE_ZEROED(lines->arena, double, numbers);
  double *v_bar = S2_TAKE_ZEROED(lines->arena, double, numbers);
  double *q_bar = S2_TAKE_ZEROED(lines->arena, double, numbers);
  for (int i = 0; i < 6; i++) {
    // For a unit velocity, J v is one entry of J. Differentiate that entry with respect to the
    // poses, through the point and the normal.
    int at = 3 * slot[i / 3] + i % 3;
    S2PointBar point = {0};
    S2Vec2 direction_bar = {0, 0};
    v[at] = 1;
    s2_touch_velocity_vjp(touch, k, direction, v, 1, v_bar, &point, &direction_bar);
    v[at] = 0;
    direction_bar = tangent ? s2_right(direction_bar) : direction_bar;
    point.normal = s2_add(point.normal, direction_bar);
    s2_touch_point_vjp(world, touch, k, step->q0, &point, q_bar, gradient);
    for (int j = 0; j < 6; j++) {
      int by = 3 * slot[j / 3] + j % 3;
      line.bend.at[i][j] = q_bar[by];
      q_bar[by] = 0;
    }
  }
  // Each of the six calls has added J to v_bar.
  for (int side = 0; side < 2; side++) {
    int32_t column = lines->column[slot[side]];
    line.slot[side] = slot[side];
    for (int c = 0; c < 3; c++) {
      double j = v_bar[3 * slot[side] + c] / 6;
      if (column == S2_NONE) { // the motion of this body is prescribed
        line.rest += j * step->free_v[3 * slot[side] + c];
      } else {
        line.j[column + c] += j;
      }
    }
  }
  return line;
}

static void lcs_add_contact(const S2Step *step, const S2Touch *touch, int k,
                            S2WorldGradient *gradient, S2LcsRows *rows) {
  const S2World *world = step->world;
  const S2ManifoldPoint *at = &touch->points[k].at;
  const double *qa = step->q0 + 3 * touch->body_a;
  bool soft = touch->compliance > 0;
  // An overlap counts as a closed gap. An open gap may close completely within the step.
  double bias = fmax(at->gap, 0) / step->h, by_gap = 1 / step->h, compliance = 0;
  if (soft) {
    S2Blend blend = {.h = step->h, .alpha = 1, .beta = 1};
    S2TouchBar unused = {0};
    S2SoftRow row = s2_soften_gap(at->gap, 0, touch->compliance, touch->damping, blend);
    bias = row.bias;
    compliance = row.compliance;
    by_gap =
        s2_soften_gap_vjp(at->gap, 0, touch->compliance, touch->damping, blend, 0, 1, &unused).gap;
  }
  S2Line line = lcs_contact_line(step, &rows->lines, touch, k, false, gradient);
  int normal = lcs_add_line(rows, &line, bias, by_gap);
  rows->line[normal].compliance = compliance;
  S2LcsPart *part = &rows->part[rows->part_count++];
  *part = (S2LcsPart){.kind = S2_LCS_CONTACT,
                      .a = s2_body_id(world, touch->body_a),
                      .b = s2_body_id(world, touch->body_b),
                      .point = s2_vec2(qa[1] + at->point.x, qa[2] + at->point.y),
                      .normal = at->normal,
                      .gap = at->gap,
                      .friction = touch->friction,
                      .soft = soft,
                      .row = lcs_add_row(rows, normal, 1, -1),
                      .rows = touch->friction > 0 ? 4 : 1,
                      .impact = -1};
  if (touch->friction > 0) {
    line = lcs_contact_line(step, &rows->lines, touch, k, true, gradient);
    int tangent = lcs_add_line(rows, &line, -touch->surface_speed, 0), slack = part->row + 3;
    lcs_add_row(rows, tangent, 1, slack);
    lcs_add_row(rows, tangent, -1, slack);
    lcs_add_row(rows, -1, 0, -1);
  }
}

static S2Status lcs_add_contacts(const S2Step *step, S2WorldGradient *gradient, S2LcsRows *rows) {
  const S2World *world = step->world;
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    if (!s2_touch_solid(touch)) {
      continue;
    }
    if (touch->viscosity > 0) {
      char label[S2_NAME_SIZE + 8];
      s2_body_label(world, touch->body_a, label);
      return s2_error(S2_INVALID,
                      "lcs: body %s: contact viscosity is not supported: set contact_viscosity = 0",
                      label);
    }
    for (int k = 0; k < touch->count; k++) {
      lcs_add_contact(step, touch, k, gradient, rows);
    }
  }
  return s2_ok();
}

// ---- Joints -----------------------------------------------------------------------------------

static void lcs_add_limit(const S2Step *step, S2JointId joint, const S2Line *line, double sign,
                          double distance, S2LcsRows *rows) {
  if (!isfinite(distance)) {
    return;
  }
  // `sign` is 1 for a lower limit: the row is sign (J v + bias).
  double h = step->h;
  int index = lcs_add_line(rows, line, sign * fmax(distance, 0) / h, 1 / h);
  rows->part[rows->part_count++] = (S2LcsPart){.kind = sign > 0 ? S2_LCS_LIMIT_LO : S2_LCS_LIMIT_HI,
                                               .joint = joint,
                                               .gap = distance,
                                               .row = lcs_add_row(rows, index, sign, -1),
                                               .rows = 1,
                                               .impact = -1};
}

// Adds a drive. Its impulse is at most `most` and brings J v + bias to 0.
static void lcs_add_drive(S2LcsKind kind, S2JointId joint, const S2Line *line, double bias,
                          double most, S2LcsRows *rows) {
  if (!(most > 0) || most == INFINITY) { // an unbounded drive is an equation, and the joints
                                         // already contain it
    return;
  }
  int index = lcs_add_line(rows, line, bias, 0), row = rows->row_count;
  rows->line[index].base = -most;
  lcs_add_row(rows, index, 1, row + 1);
  lcs_add_row(rows, -1, 0, -1);
  rows->part[rows->part_count++] =
      (S2LcsPart){.kind = kind, .joint = joint, .most = most, .row = row, .rows = 2, .impact = -1};
}

static void lcs_add_joint(const S2Step *step, int32_t slot, S2LcsRows *rows) {
  const S2Joint *joint = &step->world->joints.at[slot];
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointId id = {(uint32_t)slot + 1, joint->serial};
  double h = step->h;
  if (joint->limit_lo < joint->limit_hi &&
      (joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY)) {
    S2Line line = s2_line_of_coordinate(&rows->lines, &(S2Coordinate){.joint = id});
    lcs_add_limit(step, id, &line, 1, line.value - joint->limit_lo, rows);
    lcs_add_limit(step, id, &line, -1, joint->limit_hi - line.value, rows);
  }
  if (joint->has_motor || joint->friction > 0) {
    S2Coordinate along = {.joint = id, .part = kind->drive != kind->coordinate};
    S2Line line = s2_line_of_coordinate(&rows->lines, &along);
    if (joint->has_motor) {
      lcs_add_drive(S2_LCS_MOTOR, id, &line, -joint->motor_speed, joint->motor_max * h, rows);
    }
    lcs_add_drive(S2_LCS_FRICTION, id, &line, 0, joint->friction * h, rows);
  }
}

// ---- All rows ---------------------------------------------------------------------------------

S2Status s2_lcs_rows_of(const S2Step *step, S2Arena *arena, S2LcsRows *rows) {
  const S2World *world = step->world;
  // The capacity is enough for two points per touch, with two lines and four rows each, and for two
  // limits and two drives per joint.
  int touches = step->touch_count, joints = world->joint_order.count;
  *rows = (S2LcsRows){.lines = s2_lines_of(world, arena),
                      .line = S2_TAKE(arena, S2LcsLine, 4 * touches + 4 * joints + 1),
                      .row = S2_TAKE(arena, S2LcsRow, 8 * touches + 6 * joints + 1),
                      .part = S2_TAKE(arena, S2LcsPart, 2 * touches + 4 * joints + 1)};
  S2WorldGradient gradient = {0};
  s2_world_gradient_fit(&gradient, world);
  S2Status status = lcs_add_contacts(step, &gradient, rows);
  s2_world_gradient_free(&gradient);
  for (int i = 0; i < joints && status.code == S2_OK; i++) {
    int32_t slot = world->joint_order.at[i];
    if (s2_joint_active(world, &world->joints.at[slot])) {
      lcs_add_joint(step, slot, rows);
    }
  }
  return status;
}
