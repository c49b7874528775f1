// Event stepping splits the step of each island at its impact times (docs/stepping.md).
// A piece of the step has four parts:
//
// 1. Points that touch and approach take part in an impact of zero duration. All resting points of
//    the island take part, because an impact travels through them.
// 2. Points that touch and do not separate are resting points. They are rows of the flow.
// 3. The bodies move to the end of the step. If there are rows, they move by the two-stage flow
//    (rattle/). Otherwise they move by the trapezoidal rule, q+ = q + s (v + v+)/2, which is exact
//    under constant forces. Islands that the two-stage flow does not support use the trapezoidal
//    rule or, if they have joints, implicit Euler. Their position errors are projected.
// 4. If other points meet during the flow, it ends at the first of these times, and the next piece
//    begins.
//
// After S2_EVENT_SPLITS pieces, the remainder is one two-stage flow with predictive rows
// (finish_rattled) or a speculative step. An island with only joints takes its whole step by the
// two-stage flow. With S2_AUTO, a large island takes a speculative step. Islands are built from the
// distances that bodies may move in the whole step, so bodies that meet within the step are in one
// island.
#include "dynamics/schemes/event.h"
#include "dynamics/audit/audit.h"
#include "dynamics/joints/rows.h"
#include "dynamics/project/passage.h"
#include "dynamics/project/spin.h"
#include "dynamics/project/warn.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/rest/rest.h"
#include "dynamics/schemes/schemes.h"
#include "dynamics/schemes/threads.h"
#include "dynamics/small/small.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/laws.h"
#include "dynamics/step/solve.h"
#include "dynamics/step/touch.h"

#include <string.h>

enum { JOINT_SUM = S2_JOINT_ROWS + 3 };

// After this number of solves that miss their tolerance, an island takes the simplest kind of step.
// If bodies are squeezed, hardly any solve in a search for impact times has a solution.
enum { MISSES = 4 };

// ---- Impulses ---------------------------------------------------------------------------------

// Logs the impulses of the last solve for `touches` of the island, and keeps them for warm
// starting.
static void keep_contacts(const S2EventRun *event, const S2Touch *touches) {
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    s2_log_touch(event->step, index, touches != NULL ? &touches[i] : &event->step->touches[index],
                 NULL);
  }
}

// Adds the joint impulses of the last solve to the sums. `audited` is true if audits have recorded
// the separate impulses, which may cancel in the sum.
static void keep_joints(const S2EventRun *event, bool audited) {
  const S2Step *step = event->step;
  const double nothing[3] = {0};
  for (int i = 0; i < event->island->joints; i++) {
    int32_t slot = event->island->joint[i];
    double *sum = event->joint_sum + JOINT_SUM * i;
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      sum[r] += step->joint_impulse[S2_JOINT_ROWS * slot + r];
    }
    for (int c = 0; c < 3; c++) {
      sum[S2_JOINT_ROWS + c] += step->joint_reaction[3 * slot + c];
    }
    if (!audited) {
      const S2Joint *joint = &step->world->joints.at[slot];
      s2_audit_halves(step, joint, step->joint_reaction + 3 * slot, nothing, 0);
    }
  }
}

// Copies the joint reactions, 3 per joint of the island.
static void take_reactions(const S2EventRun *event, double *to) {
  for (int i = 0; i < event->island->joints; i++) {
    const double *from = event->step->joint_reaction + 3 * event->island->joint[i];
    memcpy(to + 3 * i, from, 3 * sizeof(double));
  }
}

// Passes joint impulses to audits. The impulses of a stop and the impulses before it (`gave`) may
// cancel, so audits record both.
static void audit_stop(const S2EventRun *event, const double *gave) {
  const S2Step *step = event->step;
  const S2Island *island = event->island;
  for (int i = 0; i < island->joints; i++) {
    const double *before = gave + 3 * i, *both = step->joint_reaction + 3 * island->joint[i];
    const double stop[3] = {both[0] - before[0], both[1] - before[1], both[2] - before[2]};
    s2_audit_halves(step, &step->world->joints.at[island->joint[i]], before, stop, 0);
  }
}

// Stops joint coordinates that have reached their limits. Called after positions are corrected.
// Returns false if aborted.
static bool stop_arrived(const S2EventRun *event) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  double *gave = S2_TAKE(step->arena, double, 3 * island->joints);
  take_reactions(event, gave);
  s2_step_scale_contacts(step, island, 0);       // contacts are already recorded
  if (!s2_island_stop_at_limits(step, island)) { // logs the impulses
    return false;
  }
  audit_stop(event, gave);
  return true;
}

// Stops pressing contacts that approach at the end of a piece. With implicit Euler, bodies move
// straight along v1, which satisfies the rows of the start. If a pressing contact has turned since
// then, its bodies approach with v1 at the end. Without the stop, they would collide at the start
// of the next piece and bounce, although they never separated. Touching pairs that do not approach
// take part, as in an impact. Other approaching pairs collide in the next piece. Sets *stops to
// true if any pair was stopped. Returns false if aborted.
static bool stop_turned(const S2EventRun *event, bool *stops) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  bool any = false;
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &step->touches[index];
    bool rigid = !s2_touch_soft(touch);
    for (int k = 0; k < touch->count; k++) {
      const S2TouchPoint *point = &touch->points[k];
      bool touches = rigid && point->at.gap <= event->slop;
      bool presses = touches && (point->normal_impulse > 0 || point->closed) &&
                     s2_resting_has(&event->resting[i], point->at.id);
      double u = s2_touch_velocity(touch, k, point->at.normal, step->v2);
      bool approaches = u < -event->tiny;
      event->choices[2 * index + k] = (S2Choice){.use = presses || (touches && !approaches)};
      any |= presses && approaches;
    }
  }
  *stops = any;
  if (!any) {
    return true;
  }
  double *gave = S2_TAKE(step->arena, double, 3 * island->joints);
  take_reactions(event, gave);
  s2_step_scale_contacts(step, island, 0); // contacts are already recorded
  step->world->stats.second_solves += 1;
  if (!s2_step_solve(step, island, event->choices, S2_SOLVE_LIMITS, step->v2, NULL)) {
    return false;
  }
  keep_contacts(event, NULL);
  audit_stop(event, gave);
  return true;
}

static void follow_near(const S2Step *step, S2Touch *touch, double margin) {
  s2_touch_follow(step, touch);
  if (touch->count == 2 && touch->points[1].at.gap > margin) {
    touch->count = 1;
  }
  if (touch->points[0].at.gap > margin) {
    touch->points[0] = touch->points[1];
    touch->count -= 1;
  }
}

// Distributes the impulses of the whole step to the touches at its end. They are guesses for the
// next step. If a feature no longer exists, the nearest feature gets its impulse.
static void hand_out_impulses(const S2EventRun *event) {
  S2Step *step = event->step;
  double margin = step->world->kept.def.contact_margin;
  s2_event_forget_impulses(event);
  // Set the geometry at the end of the step, then add the logged impulses of the pair.
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    S2Touch *touch = &step->touches[index];
    if (s2_touch_still(step, touch, S2_AT_REST)) {
      follow_near(step, touch, margin);
    } else {
      s2_touch_collide(step->world, touch, step->q1, margin);
    }
    for (int32_t at = step->logged[index]; at != S2_NONE && touch->count > 0;) {
      const S2Acted *acted = &step->world->log.at[at];
      int k = touch->count == 2 && touch->points[1].at.gap < touch->points[0].at.gap;
      k = touch->points[0].at.id == acted->feature                        ? 0
          : touch->count == 2 && touch->points[1].at.id == acted->feature ? 1
                                                                          : k;
      touch->points[k].normal_impulse += acted->normal_impulse;
      touch->points[k].tangent_impulse += acted->tangent_impulse;
      at = acted->next;
    }
  }
  // For joints, use the sums over the pieces.
  for (int i = 0; i < event->island->joints; i++) {
    int32_t slot = event->island->joint[i];
    const double *sum = event->joint_sum + JOINT_SUM * i;
    memcpy(step->joint_impulse + S2_JOINT_ROWS * slot, sum, sizeof(double) * S2_JOINT_ROWS);
    memcpy(step->joint_reaction + 3 * slot, sum + S2_JOINT_ROWS, 3 * sizeof(double));
  }
}

// ---- Touches of the island --------------------------------------------------------------------

static void event_collide(const S2EventRun *event, const double *q) {
  const S2Step *step = event->step;
  for (int i = 0; i < event->island->touches; i++) {
    S2Touch *touch = &step->touches[event->island->touch[i]];
    s2_touch_collide(step->world, touch, q, INFINITY);
    touch->count = touch->enabled ? touch->count : 0; // hidden touches are handled later
  }
}

// Calls pre-solve for contact points that have appeared since the step began.
static bool ask_for_new(const S2EventRun *event) {
  bool going = true;
  for (int i = 0; i < event->island->touches && going; i++) {
    S2Touch *touch = &event->step->touches[event->island->touch[i]];
    going = s2_touch_ask(event->step, touch);
    touch->count = touch->enabled ? touch->count : 0;
  }
  return going;
}

// Updates the touches at the end of a flow. Resting pairs keep their contact points.
static void event_collide_at_end(const S2EventRun *event) {
  const S2Step *step = event->step;
  for (int i = 0; i < event->island->touches; i++) {
    S2Touch *touch = &step->touches[event->island->touch[i]];
    if (s2_touch_still(step, touch, S2_AT_REST)) {
      s2_touch_follow(step, touch);
    } else {
      s2_touch_collide(step->world, touch, step->q1, INFINITY);
    }
    touch->count = touch->enabled ? touch->count : 0;
  }
}

static void look_how_far(const S2EventRun *event) {
  const S2Step *step = event->step;
  double end = event->done + step->h;
  for (int i = 0; i < event->island->nodes; i++) {
    int32_t slot = event->island->node[i], at = 3 * slot;
    double gone[3];
    for (int c = 0; c < 3; c++) {
      gone[c] = step->q1[at + c] - event->q_start[at + c] - end * event->free_start[at + c];
    }
    double turn = fmin(fabs(gone[0]), 2) * step->world->bodies.at[slot].reach;
    event->astray[slot] = fmax(event->astray[slot], hypot(gone[1], gone[2]) + turn);
  }
}

// ---- Turning bodies ----------------------------------------------------------------------------

// Returns the number of pieces into which the remainder of the step must be split. More than one
// piece is needed if bodies with the velocities v turn fast while contacts press.
static double turns_of(const S2EventRun *event, const double *v, double h) {
  const S2Step *step = event->step;
  double most = 1;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i]];
    if (touch->count > 0) {
      most = fmax(most, s2_touch_turns(step->world, touch, v, h));
    }
  }
  return most;
}

// Returns true if the island takes the simplest kind of step. Solvers other than `auto` may fail on
// problems that have a solution, so their failures are ignored.
static bool gives_up(const S2EventRun *event) {
  bool tells = event->step->world->kept.def.solver == S2_SOLVER_AUTO;
  return tells && event->step->unsolved - event->missed >= MISSES;
}

static int most_splits(const S2EventRun *event) {
  return event->island->joints > 0 ? S2_EVENT_JOINTED_SPLITS : S2_EVENT_SPLITS;
}

// Returns true if a piece of length h must not be shortened further.
static bool is_least(const S2EventRun *event, double h) {
  return h * S2_TURN_PIECES <= event->left || event->turns >= S2_TURN_PIECES;
}

// Returns true if bodies with their final velocities turn by at most twice the limit in a flow of
// length h.
static bool turns_fit(const S2EventRun *event, double h) {
  return is_least(event, h) || turns_of(event, event->step->v1, h) <= 2;
}

// Called if a piece has ended because bodies turn too far. Permits as many further splits as in a
// separate step.
static void next_part(S2EventRun *event, int splits) {
  event->most = splits + 1 + most_splits(event);
  event->turns += 1;
}

// Limits the length of the piece by the rotation of bodies with the velocities v.
static void set_horizon(S2EventRun *event, const double *v) {
  double pieces = fmin(turns_of(event, v, event->left), S2_TURN_PIECES - event->turns);
  event->horizon = pieces > 1 ? event->left / pieces : event->left;
}

// ---- Impacts -----------------------------------------------------------------------------------

static bool event_strike(const S2EventRun *event) {
  S2Step *step = event->step;
  s2_event_forget_impulses(event);
  s2_event_set_ground(event, true);
  if (!s2_event_strike(event)) {
    return false;
  }
  // The piece starts with the velocities after the impacts. Log the impulses of the impacts here.
  keep_contacts(event, NULL);
  keep_joints(event, false);
  s2_event_set_ground(event, false);
  const S2SmallImpact *impact =
      s2_small_keep_impact(event->flow.small, event->choices, event->done);
  s2_note_struck(step, event->island, step->v0, impact);
  s2_event_copy_nodes(event, step->v2, step->v0);
  return true;
}

// ---- Flow -------------------------------------------------------------------------------------

// Returns true if point k of a touch is closed at the start of the piece and separates so slowly
// that forces may close it again.
static bool sets_out_closed(const S2EventRun *event, const S2Touch *touch, int k) {
  const S2ManifoldPoint *at = &touch->points[k].at;
  return !s2_touch_soft(touch) && at->gap <= event->slop &&
         s2_touch_velocity(touch, k, at->normal, event->step->v0) <=
             s2_event_slow_if_held(event, touch, k);
}

// Chooses the resting points. Returns true if there are resting points or other rows.
static bool choose_resting(const S2EventRun *event) {
  const S2Step *step = event->step;
  bool some = event->island->joints > 0;
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    const S2Touch *touch = &step->touches[index];
    S2Resting *resting = &event->resting[i];
    *resting = (S2Resting){0};
    for (int k = 0; k < touch->count; k++) {
      bool soft = s2_touch_soft(touch), rests = sets_out_closed(event, touch, k);
      event->choices[2 * index + k] = (S2Choice){.use = soft || rests};
      some |= soft || rests;
      if (rests) {
        resting->id[resting->count++] = touch->points[k].at.id;
      }
    }
  }
  return some;
}

// Chooses the rows of points that are still listed as resting. Returns true if there are rows.
static bool choose_again(const S2EventRun *event) {
  bool some = event->island->joints > 0;
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    const S2Touch *touch = &event->step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      bool use = s2_touch_soft(touch) || s2_resting_has(&event->resting[i], touch->points[k].at.id);
      event->choices[2 * index + k] = (S2Choice){.use = use};
      some |= use;
    }
  }
  return some;
}

static void take_touches(const S2EventRun *event, S2Touch *to) {
  for (int i = 0; i < event->island->touches; i++) {
    to[i] = event->step->touches[event->island->touch[i]];
  }
}

static void event_project(const S2EventRun *event, bool holds) {
  S2Step *step = event->step;
  if (step->world->kept.def.stabilization == S2_PROJECTION) {
    step->holds = holds;
    s2_island_project(step, event->island);
    step->holds = false;
  } else {
    s2_island_correct_balance(step, event->island);
  }
}

static S2LawFrame law_frame(const S2EventRun *event) {
  return (S2LawFrame){event->q_start, event->v_start, event->free_start, event->done};
}

static void put_back(const S2EventRun *event, const double *q) {
  for (int i = 0; i < event->island->nodes; i++) {
    memcpy(event->step->q1 + 3 * event->island->node[i], q + 3 * i, 3 * sizeof(double));
  }
}

// whether and how the flow of a piece must be repeated
typedef enum Again {
  AGAIN_NOT,
  AGAIN_WITHOUT, // without the row of a point that separated during the flow
  // With half the length. The point separates if it has a row, and is driven back if it has none.
  AGAIN_SHORTER,
} Again;

// Finds points that separate during the flow. They pressed at its start, and projection closed them
// at its end. They carry no impulse at the end, because the rows have turned. `open` contains the
// touches at the end before projection. Sets the impulses of these points to 0 in `open`. Returns
// true if there are such points.
static bool lets_go_of(const S2EventRun *event, S2Touch *open) {
  const S2Step *step = event->step;
  bool any = false;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *now = &step->touches[event->island->touch[i]];
    for (int k = 0; k < open[i].count; k++) {
      S2TouchPoint *point = &open[i].points[k];
      bool presses = false;
      for (int j = 0; j < now->count; j++) {
        presses |= now->points[j].at.id == point->at.id && now->points[j].normal_impulse > 0;
      }
      if (point->normal_impulse > 0 && point->at.gap > event->slop && !presses) {
        point->normal_impulse = point->tangent_impulse = 0;
        any = true;
      }
    }
  }
  return any;
}

// Removes the rows of points that rested at the start and carry no impulse at the end (`open`).
// These points then separate immediately.
static void rest_without(const S2EventRun *event, const S2Touch *solved, const S2Touch *open) {
  for (int i = 0; i < event->island->touches; i++) {
    S2Resting *resting = &event->resting[i], rests = {0};
    for (int r = 0; r < resting->count; r++) {
      bool pressed = false, presses = true;
      for (int k = 0; k < solved[i].count; k++) {
        const S2TouchPoint *point = &solved[i].points[k];
        pressed |= point->at.id == resting->id[r] && point->normal_impulse > 0;
      }
      for (int k = 0; k < open[i].count && pressed; k++) {
        const S2TouchPoint *point = &open[i].points[k];
        presses &= point->at.id != resting->id[r] || point->normal_impulse > 0;
      }
      if (presses) {
        rests.id[rests.count++] = resting->id[r];
      }
    }
    *resting = rests;
  }
}

static void forget_closed(const S2EventRun *event) {
  for (int i = 0; i < 2 * event->island->touches; i++) {
    event->step->touches[event->island->touch[i / 2]].points[i % 2].closed = false;
  }
}

// Marks resting points that overlapped at the end of the flow although their row had no impulse.
// Such an overlap occurs if one body turns while it slides along the other, because the rows of the
// start do not turn. If the projection leaves hardly any gap at such a point, the point presses and
// must be closed. `open` contains the touches at the end of the flow. Returns true if there are
// such points.
static bool close_driven(const S2EventRun *event, const S2Touch *open) {
  bool any = false;
  for (int i = 0; i < event->island->touches; i++) {
    S2Touch *now = &event->step->touches[event->island->touch[i]];
    for (int k = 0; k < open[i].count; k++) {
      const S2TouchPoint *was = &open[i].points[k];
      if (was->normal_impulse > 0 || !(was->at.gap < -event->slop) ||
          !s2_resting_has(&event->resting[i], was->at.id)) {
        continue;
      }
      for (int j = 0; j < now->count; j++) {
        S2TouchPoint *point = &now->points[j];
        point->closed |=
            point->at.id == was->at.id && point->at.gap < -S2_EVENT_PARTED * was->at.gap;
        any |= point->closed;
      }
    }
  }
  return any;
}

// Projects the positions. If rows have turned or forces have changed since the solve, computes the
// velocities again. In this solve, all closed points press.
static bool arrive_at_end(S2EventRun *event, const S2Touch *solved, const double *flowed,
                          bool *turned, Again *again) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  if (solved == NULL) { // the remainder was a speculative step
    event_project(event, false);
    return true;
  }
  S2Touch *open = S2_TAKE(step->arena, S2Touch, island->touches);
  int noted = s2_notes_mark(step);
  take_touches(event, open);
  for (;;) {
    forget_closed(event);
    bool changed = false;
    event_project(event, !event->limited);
    // Project again, to remove the gaps that remain at these points.
    if (close_driven(event, open)) {
      event_project(event, !event->limited);
    }
    S2LawFrame frame = law_frame(event);
    if (event->lawful && !event->straight && !s2_laws_arrive(step, island, &frame, &changed)) {
      return false;
    }
    if (!s2_event_turn(event, solved, changed, turned)) {
      return false;
    }
    if (!*turned || event->limited || event->lawful || island->joints > 0 ||
        !lets_go_of(event, open)) {
      break;
    }
    if (event->released < S2_EVENT_RELEASES) { // the caller repeats the flow without these points
      rest_without(event, solved, open);
      *again = AGAIN_WITHOUT;
      return true;
    }
    if (!is_least(event, step->h)) { // the point separates later in the flow
      *again = AGAIN_SHORTER;
      return true;
    }
    // Repeat from the end of the flow, without these points.
    s2_notes_rewind(step, noted);
    put_back(event, flowed);
    s2_event_copy_nodes(event, step->v1, step->v2);
    s2_event_put_touches(event, open);
  }
  keep_contacts(event, *turned ? NULL : solved);
  return true;
}

// Ends a piece of the two-stage flow, which needs no projection.
static void end_rattled(S2EventRun *event, double h) {
  S2Step *step = event->step;
  s2_rattle_keep_flow(step, event->island, h, h, &event->flow);
  keep_joints(event, true);
  look_how_far(event);
  s2_note_interval_end(step, event->island);
  event->done += h;
  event->left -= h;
}

// Ends a piece. Projects the errors of the flow, records the impulses of contacts, and stops joints
// at their limits. The touches are at q1. `solved` is the same as in s2_event_repay.
static bool end_piece(S2EventRun *event, double h, const S2Touch *solved, Again *again) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  if (event->rattled) {
    end_rattled(event, h);
    return true;
  }
  double *flowed = S2_TAKE(step->arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(flowed + 3 * i, step->q1 + 3 * island->node[i], 3 * sizeof(double));
  }
  bool turned = false;
  if (!arrive_at_end(event, solved, flowed, &turned, again)) {
    return false;
  }
  if (again != NULL && *again != AGAIN_NOT) {
    return true;
  }
  // Remove the energy that the flow and the projection have added.
  s2_event_repay(event, solved, flowed, turned);
  // After the positions are corrected, stop joints that have reached a limit.
  bool arrives = event->limited && s2_step_limit_arrives(step, island);
  bool stops = arrives;
  if (!(arrives ? stop_arrived(event)
                : !event->straight || solved == NULL || stop_turned(event, &stops))) {
    return false;
  }
  // The next piece begins here.
  keep_joints(event, stops);
  look_how_far(event);
  s2_audit_piece(step, island, h, step->share < 1);
  s2_note_interval_end(step, island);
  event->done += h;
  event->left -= h;
  return true;
}

// Returns the time (s) after which a fast, thin body would pass through another body, or INFINITY.
// *of receives the touch of the two bodies.
static double event_passage(const S2EventRun *event, const S2Touch **of) {
  double first = INFINITY;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &event->step->touches[event->island->touch[i]];
    double t = s2_step_passage(event->step, touch);
    *of = t < first ? touch : *of;
    first = fmin(first, t);
  }
  return first;
}

// If the step cannot be split further, stops bodies before they pass through a body that is not
// kinematic.
static void stop_short(const S2EventRun *event) {
  S2Step *step = event->step;
  const S2Touch *of = NULL;
  double first = event_passage(event, &of);
  if (first < step->h && s2_touch_driven(step->world, of)) {
    s2_step_warn_of_passage(step, of, first);
  }
  (void)s2_island_stop_short(step, event->island, fmin(1, first / step->h));
}

// Continues the rest of the island's step in predictive pieces.
static void look_ahead_in_pieces(S2EventRun *event) {
  event->halved = true;
  event->ahead = false;
  for (int i = 0; i < event->island->nodes; i++) {
    event->step->halves[event->island->node[i]] = true;
  }
}

// Takes a predictive piece. If shapes without a row overlap within the piece or at its end, repeats
// the piece with rows for them. `solved` is the same as in s2_island_look_ahead. Returns false if
// aborted.
static bool look_ahead_with_unforeseen(S2EventRun *event, bool *solved) {
  S2Step *step = event->step;
  bool found = true;
  for (int pass = 0; found; pass++) {
    if (!s2_island_look_ahead(step, event->island, event->choices, solved)) {
      return false;
    }
    bool may = pass < S2_RELINEARISE_PASSES && !step->hurries && (solved == NULL || *solved);
    found = false;
    if (may && !s2_island_unforeseen_within(step, event->island, &found)) {
      return false;
    }
  }
  return true;
}

// Takes a predictive step over the remainder. If the solve of a pile does not converge soon, takes
// a step over half the remainder, whose solve may converge. The step ends early if a body would
// pass through another. *h receives the length of the step.
static bool look_ahead_or_halve(S2EventRun *event, double *h) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  int noted = s2_notes_mark(step);
  // True if an earlier search has already tried the whole step.
  bool known = event->halved && event->done == 0;
  *h = known ? event->left / 2 : event->left;
  set_horizon(event, step->v0);
  *h = fmin(*h, event->horizon);
  // Save the rows, because an attempt may change them.
  S2Touch *before = S2_TAKE(step->arena, S2Touch, island->touches);
  take_touches(event, before);
  for (;;) {
    s2_event_set_piece(event, *h);
    s2_note_set_out(step, island, false);
    s2_event_place_ground(event);
    bool tries = event->halvings > 0, solved = true;
    if (!look_ahead_with_unforeseen(event, tries ? &solved : NULL)) {
      return false;
    }
    if (solved && !turns_fit(event, *h)) {
      *h /= 2;
      s2_event_put_touches(event, before);
      s2_notes_rewind(step, noted);
      continue;
    }
    const S2Touch *of = NULL;
    double passage = solved ? event_passage(event, &of) : INFINITY;
    bool cuts = passage < *h && event->cuts < S2_EVENT_CUTS && !gives_up(event);
    if (solved && !cuts) {
      return true;
    }
    *h = solved ? fmax(passage, S2_EVENT_SHORTEST * event->left) : *h / 2;
    event->cuts += cuts;
    event->halvings -= !solved;
    step->world->stats.halved += !solved;
    look_ahead_in_pieces(event);
    s2_event_put_touches(event, before);
    s2_notes_rewind(step, noted);
  }
}

// Takes the remainder of the step, or a part of it, as a speculative step.
static bool finish_speculatively(S2EventRun *event, int splits) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  double h;
  step->share = 1;
  event->rattled = false;
  if (!look_ahead_or_halve(event, &h)) {
    return false;
  }
  s2_note_arrive(step, island, S2_NONE, 0, true);
  if (event->cuts > 0) { // the time of the cut depends on the inputs
    s2_note_short(step, island, 1);
  }
  s2_event_copy_nodes(event, step->v1, step->v2);
  S2Found *pressed = s2_found_pressed(step, island);
  if (!s2_island_impact(step, island, event->choices, event->touching)) {
    return false;
  }
  keep_contacts(event, NULL);
  stop_short(event);
  if (h < event->left) {
    next_part(event, splits);
    if (event->ahead) {
      look_ahead_in_pieces(event);
    }
  }
  if (event->ahead) { // q0 is the state at the start of the step
    for (int i = 0; i < island->touches; i++) {
      s2_touch_settle(step, &step->touches[island->touch[i]]);
    }
  } else {
    event_collide_at_end(event);
  }
  if (!end_piece(event, h, NULL, NULL)) {
    return false;
  }
  s2_found_forget_impact(step, island, pressed);
  return true;
}

// ---- The step of an island --------------------------------------------------------------------

// Returns true if the island needs implicit Euler. Joints are rows at velocity level with SHAKE,
// which conserves energy only with implicit Euler. With the trapezoidal rule, a pendulum would gain
// energy of order h. The prediction of soft contacts also uses implicit Euler.
static bool needs_euler(const S2Step *step, const S2Island *island) {
  bool needs = island->joints > 0;
  for (int i = 0; i < island->touches; i++) {
    needs |= s2_touch_soft(&step->touches[island->touch[i]]);
  }
  return needs;
}

// The step of an island with few pairs is split at impact times even if the island has many bodies.
// The motion of a joint therefore does not change when other bodies come near. In piles, the search
// for impact times would need many difficult solves.
bool s2_island_looks_ahead(const S2Step *step, const S2Island *island) {
  bool splits = island->touches <= S2_AUTO_PAIRS && s2_island_rattles_on(step, island);
  bool many =
      step->world->kept.def.stepping == S2_AUTO && island->nodes > S2_AUTO_BODIES && !splits;
  // A joint with `stabilization` needs a predictive step, which has a single solve and therefore
  // corrects errors only once.
  bool asks = false;
  for (int i = 0; i < island->joints && !asks; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    asks = joint->stabilization > 0; // false for NAN, which selects the world's setting
  }
  return island->touches == 0 || many || asks;
}

static bool has_limits(const S2Step *step, const S2Island *island) {
  bool has = false;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    bool limited = joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY;
    has |= joint->unilateral || (limited && joint->limit_lo < joint->limit_hi);
  }
  return has;
}

// Returns true if a touching point separates and returns within the flow, although forces alone
// would return it only after the step. Such a point is driven back by other touching points, so it
// becomes a resting point.
static bool comes_back(const S2EventRun *event, const S2Touch *before, int first, S2FlowEnd ends) {
  S2Resting *resting = &event->resting[first];
  if (!ends.meets || !(ends.at < event->horizon) || resting->count == 2) {
    return false;
  }
  const S2TouchPoint *point = s2_flow_nearest(&before[first], resting);
  if (point == NULL || point->at.gap > event->slop) {
    return false;
  }
  const S2Step *step = event->step;
  int k = (int)(point - before[first].points);
  double u = s2_touch_velocity(&before[first], k, point->at.normal, step->v0);
  double driven = s2_touch_velocity(&before[first], k, point->at.normal, step->v1) -
                  s2_touch_velocity(&before[first], k, point->at.normal, step->free_v);
  bool back = u <= -driven;
  if (back) {
    event->choices[2 * event->island->touch[first] + k].use = true;
    resting->id[resting->count++] = point->at.id;
  }
  return back;
}

// Returns true if the flow drives a point whose row was removed into the touched body. Such a point
// separates later, not immediately.
static bool driven_without(const S2EventRun *event, const S2Touch *before) {
  bool any = false;
  for (int i = 0; i < event->island->touches && event->released > 0; i++) {
    const S2Touch *touch = &before[i];
    for (int k = 0; k < touch->count; k++) {
      const S2ManifoldPoint *at = &touch->points[k].at;
      any |= sets_out_closed(event, touch, k) && !s2_resting_has(&event->resting[i], at->id) &&
             s2_touch_velocity(touch, k, at->normal, event->step->v1) < -event->tiny;
    }
  }
  return any;
}

// Finds touching points that separate but are reversed by a spring or a joint within the flow. With
// implicit Euler, motion is straight along v1, so bodies would overlap from the start. Such a point
// becomes a resting point. Returns true if there are such points.
static bool turns_round(const S2EventRun *event, const S2Touch *before) {
  bool any = false;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &before[i];
    S2Resting *resting = &event->resting[i];
    for (int k = 0; k < touch->count && resting->count < 2; k++) {
      const S2ManifoldPoint *at = &touch->points[k].at;
      S2Choice *choice = &event->choices[2 * event->island->touch[i] + k];
      if (!choice->use && at->gap <= event->slop &&
          s2_touch_velocity(touch, k, at->normal, event->step->carry) < -event->tiny) {
        choice->use = true;
        resting->id[resting->count++] = at->id;
        any = true;
      }
    }
  }
  return any;
}

// Returns true if shapes that do not rest overlap at the end of a flow for which no impact was
// found. Predictive rows must stop these shapes, because projection would lift bodies.
static bool runs_into(const S2EventRun *event) {
  const S2Step *step = event->step;
  bool any = false;
  bool looks = event->rattled || !event->plain;
  for (int i = 0; i < event->island->touches && looks; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i]];
    const S2TouchPoint *point = s2_flow_nearest(touch, &event->resting[i]);
    // Skip resting pairs, because projection handles them, except in the two-stage flow.
    bool rests = event->resting[i].count > 0 && !event->rattled;
    any |= !rests && !s2_touch_soft(touch) && point != NULL &&
           point->at.gap < -S2_EVENT_MISSED * event->slop;
  }
  return any;
}

// A flow (a motion from the start of a piece) and its first meeting (the first impact time).
typedef struct Way {
  S2Touch *solved; // the touches of the island in the flow
  int first;       // index of the touch that meets
  double h;        // length of the flow (s), up to its first meeting or the end of the step
  bool meets;      // true if the flow ends at the meeting
  bool cut;        // true if the flow ends early, because later motion may contain a meeting
  bool lost;       // true if no motion without a meeting was found
  bool driven;     // true if the flow drives a point whose row was removed into the touched body
} Way;

// Computes the flow of length way->h, and finds its first meeting. Returns false if aborted.
static bool flow_way(S2EventRun *event, bool rows, Way *way, S2FlowEnd *ends, int *first) {
  if (!s2_event_flow(event, way->h, rows)) {
    return false;
  }
  take_touches(event, way->solved);
  if (event->rattled && !event->flow.solved) {
    return true;
  }
  event_collide_at_end(event);
  *ends = s2_event_find_meeting(event, way->solved, S2_NONE, first);
  return true;
}

// Returns true if touch i of the island has a closed point that does not rest.
static bool way_closes(const S2EventRun *event, int i) {
  const S2Touch *touch = &event->step->touches[event->island->touch[i]];
  const S2TouchPoint *point = s2_flow_nearest(touch, &event->resting[i]);
  return point != NULL && fabs(point->at.gap) <= event->slop;
}

// Returns true if the rows are valid for the whole flow. Bodies must turn little, and pressing
// points must stay near their surfaces.
static bool way_fits(const S2EventRun *event, const Way *way) {
  return is_least(event, way->h) ||
         (turns_fit(event, way->h) && s2_event_rows_hold(event, way->solved));
}

// Ends the flow at its first impact time. The motion depends on the length of the flow, so another
// pair may meet first in the shorter flow.
static bool shorten_way(S2EventRun *event, bool rows, int noted, Way *way, S2FlowEnd ends) {
  int first = way->first;
  for (int more = 0; ends.at < way->h * (1 - S2_EVENT_ROUNDING); more++) {
    way->lost = more == S2_EVENT_SHORTENED || gives_up(event);
    if (way->lost) {
      return true;
    }
    way->first = first;
    // Shorten the flow to the impact time. If that time is not known, shorten the flow to the last
    // time that is known to precede any impact.
    double tau = fmax(ends.at, S2_EVENT_ROUNDING * event->left);
    bool meets = ends.meets;
    if (ends.meets) {
      S2Meeting meeting = {way->solved, first, rows, noted};
      if (!s2_event_flow_to_meeting(event, &meeting, &tau, &meets)) {
        return false;
      }
    } else {
      s2_event_put_touches(event, way->solved);
      s2_notes_rewind(event->step, noted);
      if (!s2_event_flow(event, tau, rows)) {
        return false;
      }
    }
    way->h = tau;
    way->meets = meets && tau < event->horizon;
    way->cut = !meets && tau < event->horizon;
    // In the shorter flow, other pairs may meet first.
    take_touches(event, way->solved);
    event_collide_at_end(event);
    int met = way->meets || way_closes(event, way->first) ? way->first : S2_NONE;
    ends = s2_event_find_meeting(event, way->solved, met, &first);
  }
  return true;
}

// Computes the flow of length way->h. Points that separate and are driven back within the flow
// become resting points and get rows. Returns false if aborted.
static bool flow_with_returns(S2EventRun *event, bool *rows, int noted, Way *way, S2FlowEnd *ends) {
  for (int more = 0;; more++) {
    if (!flow_way(event, *rows, way, ends, &way->first)) {
      return false;
    }
    bool solved = !event->rattled || event->flow.solved;
    way->driven = driven_without(event, way->solved) && !is_least(event, way->h);
    if (!solved || way->driven || more == S2_EVENT_RETURNS ||
        !(event->straight ? turns_round(event, way->solved)
                          : comes_back(event, way->solved, way->first, *ends))) {
      return true;
    }
    *rows = true;
    s2_event_put_touches(event, way->solved);
    s2_notes_rewind(event->step, noted);
  }
}

// Discards a flow that is too long, so that a flow of length h can be tried.
static void shorten_horizon(S2EventRun *event, int noted, Way *way, double h) {
  event->horizon = way->h = h;
  s2_event_put_touches(event, way->solved);
  s2_notes_rewind(event->step, noted);
}

// Finds a flow that is solved and whose rows are valid (way_fits). The flow does not end at
// impacts. Its first impact time is computed from its path. Returns false if aborted.
static bool find_flow(S2EventRun *event, bool *rows, int noted, Way *way, S2FlowEnd *ends) {
  for (bool fits = false; !fits;) {
    if (!flow_with_returns(event, rows, noted, way, ends)) {
      return false;
    }
    if (way->driven) {
      return true;
    }
    bool solved = !event->rattled || event->flow.solved;
    fits = solved && (!*rows || way_fits(event, way));
    bool arrives = !solved && isfinite(event->flow.met);
    way->lost = !solved && !arrives && is_least(event, way->h);
    if (way->lost) {
      return true;
    }
    event->flow.failed = false;
    if (!fits) { // bodies turn too far, or points leave their rows
      // End the flow at a limit, or halve it.
      event->arrived += arrives;
      shorten_horizon(event, noted, way, arrives ? event->flow.met : way->h / 2);
    }
  }
  return true;
}

// Finds the motion of a piece. `rows` is true if there are constraint rows. The notes of the piece
// begin at `noted`. If the flow to an impact is not solved, tries a shorter piece. Returns false if
// aborted.
static bool find_way(S2EventRun *event, bool rows, int noted, Way *way) {
  for (bool found = false; !found;) {
    *way = (Way){.solved = way->solved, .h = event->horizon};
    S2FlowEnd ends;
    if (!find_flow(event, &rows, noted, way, &ends)) {
      return false;
    }
    if (way->driven || way->lost) {
      return true;
    }
    if (!shorten_way(event, rows, noted, way, ends)) {
      return false;
    }
    bool failed = event->rattled && event->flow.failed;
    found = !failed || way->lost || is_least(event, way->h);
    way->lost |= failed;
    if (!found) {
      shorten_horizon(event, noted, way, way->h / 2);
    }
  }
  s2_event_copy_nodes(event, event->step->v1, event->step->v2);
  return true;
}

static void set_straight(S2EventRun *event, bool straight) {
  event->straight = straight;
  event->step->share = straight ? 1 : 0.5;
}

static void choose_all(const S2EventRun *event) {
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    for (int k = 0; k < event->step->touches[index].count; k++) {
      event->choices[2 * index + k] = (S2Choice){.use = true};
    }
  }
}

// Advances the island to the end of the step by the two-stage flow, with rows for all near points.
// If bodies turn too far, advances it only by a part of the remainder. *done is false if there is
// no solution or if a body passes through another. Returns false if aborted.
static bool finish_rattled(S2EventRun *event, int splits, bool *done) {
  S2Step *step = event->step;
  Way way = {.solved = S2_TAKE(step->arena, S2Touch, event->island->touches)};
  int noted = s2_notes_mark(step);
  const S2Touch *of = NULL;
  take_touches(event, way.solved); // needed even if the remainder is too short for a piece
  (void)choose_resting(event);
  choose_all(event);
  event->rattled = event->flow.ahead = true;
  set_straight(event, true);
  bool going = true, fits = false;
  // Halve the flow until its rows are valid, or end it when a limit closes.
  for (way.h = event->left; going && !fits && !is_least(event, way.h);) {
    going = s2_event_flow(event, way.h, true);
    take_touches(event, way.solved);
    fits = going && event->flow.solved && way_fits(event, &way);
    if (going && !fits) {
      way.h = isfinite(event->flow.met) ? event->flow.met : way.h / 2;
      event->arrived += isfinite(event->flow.met);
      s2_event_put_touches(event, way.solved);
      s2_notes_rewind(step, noted);
    }
  }
  // This flow has no rows for other shapes, so check that no body passes through them.
  if (fits) {
    s2_event_copy_nodes(event, step->v1, step->v2);
    event_collide_at_end(event);
    *done = !runs_into(event) && event_passage(event, &of) >= step->h;
  }
  if (*done) {
    s2_event_note_arrival(event, S2_NONE);
    if (way.h < event->left) {
      next_part(event, splits);
    }
    going = end_piece(event, way.h, way.solved, NULL);
  } else if (going) {
    s2_event_put_touches(event, way.solved);
    s2_notes_rewind(step, noted);
  }
  event->flow.ahead = false;
  return going;
}

// Advances the island to the end of the step without searching for impact times. Uses the two-stage
// flow, or a speculative step if that flow has no solution. Returns false if aborted.
static bool finish_piece(S2EventRun *event, int splits) {
  bool done = false;
  if (event->rattles && !finish_rattled(event, splits, &done)) {
    return false;
  }
  // Pieces do not suffice for forces that turn too fast, so the remaining step is implicit.
  if (!done && event->rattles && event->island->turning > 0) {
    s2_island_stiffen(event->step, event->island);
    event->rattles = false;
  }
  return done || finish_speculatively(event, splits);
}

// Computes the flow of a piece with the chosen rows, and ends the piece. *again: whether and how
// the flow must be repeated. Returns false if aborted.
static bool flow_piece(S2EventRun *event, int splits, bool rows, Way *way, Again *again) {
  S2Step *step = event->step;
  int noted = s2_notes_mark(step);
  if (!find_way(event, rows, noted, way)) {
    return false;
  }
  if (way->driven) {
    *again = AGAIN_SHORTER;
    return true;
  }
  // Use implicit Euler if a rising body stops within the flow. With the trapezoidal rule, friction
  // acts at the mean of the velocities, and the body would rise higher than its kinetic energy
  // permits.
  if (!event->straight && s2_event_falls_short(event, way->solved)) {
    set_straight(event, true);
    s2_event_put_touches(event, way->solved);
    s2_notes_rewind(step, noted);
    if (!find_way(event, true, noted, way)) {
      return false;
    }
  }
  // If the search has failed or missed an impact, use predictive rows.
  if (way->lost || (!way->meets && !way->cut && runs_into(event))) {
    s2_event_put_touches(event, way->solved);
    s2_notes_rewind(step, noted);
    return finish_piece(event, splits);
  }
  // 4. The piece ends at the impact time or at the end of the step.
  event->splits += way->meets || way->cut;
  s2_event_note_arrival(event, way->meets ? way->first : S2_NONE);
  if (way->cut) { // the time of the cut depends on the inputs
    s2_note_short(step, event->island, 1);
    event->most += event->cuts < S2_EVENT_CUTS;
    event->cuts += 1;
  } else if (!way->meets && way->h < event->left) {
    next_part(event, splits);
  }
  return end_piece(event, way->h, way->solved, again);
}

// Takes one piece. Returns false if aborted.
static bool next_piece(S2EventRun *event, int splits) {
  S2Step *step = event->step;
  event->released = 0;
  // Initially, the piece covers the whole remainder. Place ground bodies accordingly.
  set_straight(event, event->plain);
  event->rattled = false;
  s2_event_set_piece(event, event->left);
  s2_event_place_ground(event);
  s2_note_interval(step, event->island, splits, event->rattles && event->done == 0);
  step->hurries |= gives_up(event);
  bool ahead = event->ahead || event->halved || gives_up(event);
  // 1. Pairs that touch and approach collide.
  set_horizon(event, step->v0);
  bool strikes = !ahead && s2_event_strikes(event, step->v0);
  if (strikes) {
    if (splits == 0) {
      s2_event_note_met_at_start(event);
    }
    if (!event_strike(event)) {
      return false;
    }
    s2_event_set_piece(event, event->left);
  }
  // Evaluate force laws if the state differs from the start of the step.
  if (event->lawful && (strikes || splits > 0)) {
    S2LawFrame frame = law_frame(event);
    if (!s2_laws_set_out(step, event->island, &frame)) {
      return false;
    }
    s2_event_set_piece(event, event->left);
  }
  if (ahead) {
    return finish_speculatively(event, splits);
  }
  if (splits >= event->most) {
    return finish_piece(event, splits);
  }
  // 2. Pairs that touch and do not separate are resting. 3. The bodies move until other pairs meet.
  bool rows = choose_resting(event);
  event->rattled = event->rattles && rows;
  if (event->rattles) {
    set_straight(event, rows);
    event->flow.failed = false;
    event->flow.closes_at = 0;
  }
  set_horizon(event, step->v0);
  // Free flight is exact even for large rotations.
  event->horizon = rows ? event->horizon : event->left;
  Way way = {.solved = S2_TAKE(step->arena, S2Touch, event->island->touches)};
  int noted = s2_notes_mark(step);
  S2EventRun start = *event;
  // length (s) of the first flow, which has rows for all resting points
  double pressed = event->horizon;
  for (;;) {
    Again again = AGAIN_NOT;
    if (!flow_piece(event, splits, rows, &way, &again)) {
      return false;
    }
    if (again == AGAIN_NOT) {
      return true;
    }
    // If a point separates within the flow, repeat the flow without its row, or repeat a shorter
    // flow.
    bool shorter = again == AGAIN_SHORTER;
    pressed = event->released == 0 ? way.h : pressed;
    start.released = shorter ? 0 : event->released + 1;
    start.horizon = shorter ? pressed / 2 : start.horizon;
    *event = start;
    set_straight(event, event->plain);
    s2_notes_rewind(step, noted);
    s2_event_put_touches(event, way.solved);
    rows = shorter ? choose_resting(event) : choose_again(event);
  }
}

// Returns true if the island is a pile whose solves may be abandoned in favour of shorter steps.
static bool may_halve(const S2Step *step, const S2Island *island) {
  const S2WorldDef *def = &step->world->kept.def;
  return island->touches > S2_ATTEMPT_TOUCHES && island->joints == 0 && !isfinite(step->budget) &&
         def->solver == S2_SOLVER_AUTO;
}

static bool run_island(S2EventRun *event) {
  S2Step *step = event->step;
  int touches = event->island->touches, joints = event->island->joints;
  // Set the values that all pieces of the island share.
  event->resting = S2_TAKE_ZEROED(step->arena, S2Resting, touches);
  event->joint_sum = S2_TAKE_ZEROED(step->arena, double, JOINT_SUM *joints);
  event->done = 0;
  event->left = step->dt;
  event->slop = S2_TOUCH_SLOP * event->island->length;
  event->tiny = s2_island_rest_speed(step, event->island);
  event->limited = has_limits(step, event->island);
  event->lawful = s2_island_lawful(step, event->island);
  event->plain = needs_euler(step, event->island);
  event->ahead = s2_island_looks_ahead(step, event->island);
  event->halved = event->ahead && step->halves[event->island->node[0]];
  event->ahead = event->ahead && !event->halved;
  event->rattles = !event->ahead && !event->halved && s2_island_rattles_on(step, event->island);
  if (event->rattles) {
    event->flow = s2_rattle_new_flow(step, event->island);
    event->flow.small = s2_small_take(step, event->island);
  }
  event->halvings = event->ahead && may_halve(step, event->island) ? S2_EVENT_HALVINGS : 0;
  event->cuts = event->turns = event->arrived = 0;
  event->missed = step->unsolved;
  event->most = most_splits(event);
  bool going = true;
  // Take the pieces one by one. The first piece starts with the touches of the search.
  for (int splits = 0; going && event->left > 0; splits++) {
    S2ArenaMark mark = s2_arena_mark(step->arena);
    if (splits > 0) {
      s2_event_copy_nodes(event, step->q1, step->q0);
      s2_event_copy_nodes(event, step->v2, step->v0);
      s2_event_place_ground(event);
      event_collide(event, step->q0);
      going = ask_for_new(event);
    }
    going = going && next_piece(event, splits);
    s2_arena_rewind(step->arena, mark);
  }
  step->hurries |= gives_up(event);
  // Distribute impulses, unless the step has a single solve whose impulses are already in place.
  if (!event->ahead || event->limited) {
    hand_out_impulses(event);
  }
  return going;
}

// ---- The step ---------------------------------------------------------------------------------

void s2_event_back_to_start(S2Step *step, const S2EventSearch *start) {
  size_t bytes = sizeof(double) * 3 * (size_t)step->world->bodies.count;
  memcpy(step->q0, start->q, bytes);
  memcpy(step->v0, start->v, bytes);
  memcpy(step->free_v, start->free_v, bytes);
  memcpy(step->mass, start->mass, bytes);
  step->h = step->dt;
  step->t = step->world->kept.time;
}

// Returns true if all ground bodies of the island are at rest.
static bool ground_stands(const S2Step *step, const S2Island *island) {
  const S2Body *bodies = step->world->bodies.at;
  bool stands = true;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    stands &= bodies[touch->body_a].type != S2_KINEMATIC;
    stands &= bodies[touch->body_b].type != S2_KINEMATIC;
  }
  return stands;
}

// Takes the whole step by the two-stage flow if the flow supports the island. *done is true if the
// step is solved.
static bool rattle_whole(S2EventRun *event, bool *done) {
  event->done = 0;
  *done = false;
  S2Island *island = event->island;
  if (!s2_island_rattles(event->step, island) || event->step->stiff[island->joint[0]]) {
    return true;
  }
  S2LawFrame frame = law_frame(event);
  bool going = s2_island_rattle(event->step, island, &frame, done);
  if (*done) {
    s2_note_island(event->step, event->island, S2_ACT_FLOWED, NULL);
    look_how_far(event);
  }
  return going;
}

// Steps one island. Islands share arrays, but each island uses separate elements. They also share
// the ground bodies. An island that takes predictive steps needs the ground bodies at the start of
// the step.
static bool event_work(S2Step *step, S2Island *island, void *user) {
  S2EventRun *run = user;
  if (s2_rest_keeps(step, island)) {
    return true;
  }
  S2EventRun event = *run;
  event.step = step;
  event.island = island;
  event.splits = 0;
  if (island->touches > 0) {
    island->motion = NULL; // only islands without contacts can reuse the rows of the first solve
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  step->h = step->dt;
  bool done, going = rattle_whole(&event, &done);
  going = going && (done || run_island(&event));
  s2_arena_rewind(step->arena, mark);
  if (event.splits > 0) { // false in a thread
    run->splits += event.splits;
  }
  return going;
}

bool s2_event_run(S2Step *step, S2EventSearch *search) {
  const S2World *world = step->world;
  s2_audit_again(step, NULL);
  search->seen = s2_step_see(step);
  search->seen_count = step->touch_count;
  int slots = world->bodies.count;
  memset(search->astray, 0, sizeof(double) * (size_t)slots);
  // Bodies outside islands move by the trapezoidal rule, q1 = q0 + h (v0 + v1)/2.
  step->share = 0.5;
  s2_note_plain(step, S2_ACT_DRIFT, NULL);
  memcpy(step->v1, step->free_v, sizeof(double) * 3 * (size_t)slots);
  memcpy(step->v2, step->free_v, sizeof(double) * 3 * (size_t)slots);
  s2_step_integrate(step);
  s2_rest_hold(step);
  S2EventRun event = {
      .step = step,
      .choices = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count),
      .touching = S2_TAKE_ZEROED(step->arena, bool, 2 * step->touch_count),
      .v = S2_TAKE(step->arena, double, 3 * slots),
      .bend = S2_TAKE(step->arena, double, 3 * slots),
      .q_start = search->q,
      .v_start = search->v,
      .free_start = search->free_v,
      .astray = search->astray,
  };
  // Step each island separately, from the start of the step to its end.
  step->turned = false; // q0 changes
  s2_log_begin(step);
  memset(step->corrected, 0, sizeof(double) * 3 * (size_t)slots);
  // Threads process the islands with predictive steps, which need the ground at the start of the
  // step.
  bool *ahead = S2_TAKE(step->arena, bool, step->island_count);
  step->share = 1;
  for (int i = 0; i < step->island_count; i++) {
    event.island = &step->islands[i];
    // Islands with force laws stay on this thread, because only one thread may call the program.
    ahead[i] = s2_island_looks_ahead(step, event.island) && !s2_island_lawful(step, event.island);
    if (ahead[i] && world->kept.def.threads > 1) {
      s2_event_place_ground(&event);
      ahead[i] = ground_stands(step, event.island);
    }
  }
  step->share = 0.5;
  bool going = s2_islands_run(step, event_work, &event, ahead);
  // Islands have moved the ground bodies to the times of their pieces. Restore these bodies for the
  // whole step.
  search->splits = event.splits;
  for (int32_t slot = 0; slot < slots; slot++) { // reset ground to the start of the step
    if (step->node_of[slot] == S2_GROUND) {
      memcpy(step->q0 + 3 * slot, search->q + 3 * slot, 3 * sizeof(double));
      memcpy(step->v0 + 3 * slot, search->v + 3 * slot, 3 * sizeof(double));
    }
  }
  step->h = step->dt;
  step->t = world->kept.time;
  step->share = 0.5;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (step->node_of[slot] == S2_GROUND) {
      s2_step_carry(step, slot);
    }
  }
  return going;
}

bool s2_event_outran(const S2Step *step, const S2EventSearch *search) {
  const double *astray = search->astray;
  // Each body may use half of the margin of a pair.
  double room = step->world->kept.def.contact_margin / 2;
  bool found = false;
  for (int32_t slot = 0; slot < step->world->bodies.count; slot++) {
    if (astray[slot] > room + step->slack[slot]) {
      step->slack[slot] = astray[slot];
      step->strayed[slot] = true;
      found = true;
    }
  }
  return found;
}

// Free flight is not straight, so the search for touches needs its deviation from a straight path.
static void expect_bends(const S2Step *step, const S2EventSearch *start) {
  for (int32_t slot = 0; slot < step->world->bodies.count; slot++) {
    const double *v = start->v + 3 * slot, *free_v = start->free_v + 3 * slot;
    double turn = fmin(step->dt * fabs(free_v[0] - v[0]), 2);
    step->slack[slot] = step->dt * hypot(free_v[1] - v[1], free_v[2] - v[2]) +
                        turn * step->world->bodies.at[slot].reach;
  }
}

S2EventSearch s2_event_begin(S2Step *step) {
  S2Arena *arena = step->arena;
  int n = 3 * step->world->bodies.count;
  S2EventSearch search = {.q = s2_arena_copy(arena, step->q0, n),
                          .v = s2_arena_copy(arena, step->v0, n),
                          .free_v = s2_arena_copy(arena, step->free_v, n),
                          .mass = s2_arena_copy(arena, step->mass, n),
                          .astray = S2_TAKE(arena, double, step->world->bodies.count)};
  expect_bends(step, &search);
  search.noted = s2_notes_mark(step);
  return search;
}

bool s2_event_found_more(const S2Step *step, const S2EventSearch *search) {
  return search->seen == NULL || !s2_step_same_points(step, search->seen, search->seen_count);
}

void s2_event_settle(const S2Step *step) {
  const S2World *world = step->world;
  for (int i = 0; i < step->touch_count; i++) {
    S2Touch *touch = &step->touches[i];
    bool moves =
        step->node_of[touch->body_a] != S2_GROUND || step->node_of[touch->body_b] != S2_GROUND;
    if (touch->allowed && !s2_touch_kept(step, i) && !(moves && s2_touch_solid(touch))) {
      s2_touch_collide(world, touch, step->q1, touch->sensor ? 0 : world->kept.def.contact_margin);
    }
  }
}
