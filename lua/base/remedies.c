#include "lua/base/remedies.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 48 }; // longer words are not in the table

typedef struct Remedy {
  const char *words; // words of other engines in snake_case, separated by blanks
  const char *name;  // name in sim2d; the row is used only if this name is known
  const char *write; // replacement to show, as written after "body." or in a table
} Remedy;

// The words are names in Box2D, pymunk, MuJoCo, matter.js and LOVE, and common guesses. If several
// rows contain a word, the first row with a known name is used.
static const Remedy remedies[] = {
    // shapes
    {"width height w h hx hy side half_width half_height half_extents extents", "size",
     "size = {width, height}"},
    {"r rad", "radius", "radius = metres"},
    {"diameter", "radius", "radius = half the diameter"},
    {"points verts corners path", "vertices", "vertices = {{x, y}, ...}"},
    {"vertices verts", "points", "points = {{x, y}, ...}"},
    {"p1 a start point1", "from", "from = {x, y}"},
    {"p2 b stop finish to_ point2", "to", "to = {x, y}"},
    {"closed closed_loop", "loop", "loop = true"},
    // bodies
    {"pos x y xy center centre location translation", "position", "position = {x, y}"},
    {"rotation rot theta orientation heading phi", "angle", "angle = radians"},
    {"degrees angle_degrees deg", "angle", "angle = math.rad(degrees)"},
    {"vel v vx vy speed linear_velocity linvel lin_vel", "velocity", "velocity = {vx, vy}"},
    {"omega angvel ang_vel spin angular_speed va", "angular_velocity",
     "angular_velocity = radians per second"},
    {"m weight", "mass", "mass = kg"},
    {"moment moment_of_inertia i rotational_inertia", "inertia", "inertia = kg m^2"},
    {"mu fric friction_coefficient", "friction", "friction = number"},
    {"e elasticity bounce bounciness cor", "restitution", "restitution = 0 to 1"},
    {"static is_static fixed immovable frozen", "type", "type = \"static\""},
    {"kinematic is_kinematic", "type", "type = \"kinematic\""},
    {"dynamic body_type kind", "type", "type = \"dynamic\", \"static\" or \"kinematic\""},
    {"fixed_rotation", "inertia", "inertia = a large number, or world:lock"},
    {"trigger is_sensor", "sensor", "sensor = true"},
    {"active awake is_enabled", "enabled", "enabled = true or false"},
    {"mask_bits collision_mask", "mask", "mask = bits"},
    {"group layer category_bits collision_layer collision_type", "category", "category = bits"},
    {"damping drag", "linear_damping", "linear_damping = 1/s"},
    {"user_data userdata", "data", "data = any value"},
    {"label id tag", "name", "name = \"text\""},
    {"fill stroke rgb rgba", "color", "color = \"#rrggbb\""},
    {"conveyor tangent_speed", "surface_speed", "surface_speed = m/s"},
    {"impulse linear_impulse apply_linear_impulse apply_linear_impulse_to_center "
     "apply_impulse_at_local_point apply_impulse_at_world_point",
     "apply_impulse", "apply_impulse({jx, jy}, { at = {x, y} })"},
    {"force apply_force_to_center apply_force_at_local_point apply_force_at_world_point",
     "apply_force", "apply_force({fx, fy}, { at = {x, y} })"},
    {"torque", "apply_torque", "apply_torque(N m)"},
    {"remove delete", "destroy", "destroy()"},
    // joints
    {"k spring_constant spring_rate spring constant", "stiffness", "stiffness = N/m"},
    {"c d damper viscosity damping_ratio", "damping", "damping = N s/m"},
    {"length rest natural_length l0 len", "rest_length", "rest_length = m"},
    {"body_a body1 first", "a", "a = body, or put the body first in the table"},
    {"body_b body2 second", "b", "b = body, or put the body second in the table"},
    {"pivot point center centre position local_anchor", "anchor",
     "anchor = {x, y}, in world coordinates"},
    {"anchor pivot local_anchor_a anchor1", "anchor_a", "anchor_a = {x, y}"},
    {"local_anchor_b anchor2", "anchor_b", "anchor_b = {x, y}"},
    {"range lo hi lower upper min max lower_angle upper_angle lower_translation "
     "upper_translation enable_limit limit_lo limit_hi",
     "limits", "limits = {lo, hi}"},
    {"motor_speed max_motor_torque max_torque speed rate enable_motor", "motor",
     "motor = { speed = , max_torque = } (max_force for sliders)"},
    {"direction dir normal", "axis", "axis = {x, y}"},
    {"collide_connected collide_bodies", "collide", "collide = true"},
    {"breaking_force max_force break_limit", "break_force", "break_force = N"},
    {"max_distance length max", "max_length", "max_length = m"},
    // worlds
    {"g", "gravity", "gravity = {0, -g}"},
    {"time_step timestep step h delta_time fixed_dt", "dt", "dt = seconds per step"},
    {"fps hz", "dt", "dt = 1 / (steps per second)"},
    {"iterations solver_iterations velocity_iterations position_iterations", "max_iterations",
     "max_iterations = number"},
    {"margin slop contact_slop collision_slop", "contact_margin", "contact_margin = m"},
    {"tol epsilon eps", "tolerance", "tolerance = number"},
    {"sub_steps sub_step_count", "substeps", "substeps = number"},
    {"nonlinear", "substeps", "substeps = 2 or more, or a smaller dt, for a smaller energy error"},
    {"revolute pin pivot", "hinge", "hinge { a, b, anchor = {x, y} }"},
    {"prismatic groove slide", "slider", "slider { a, b, axis = {x, y} }"},
    {"fixed", "weld", "weld { a, b, anchor = {x, y} }"},
    {"damped_spring", "spring", "spring { a, b, stiffness = N/m }"},
    {"rod link", "distance", "distance { a, b }"},
    {"rectangle rect block square cube", "box", "box { size = {width, height} }"},
    {"disc disk ball", "circle", "circle { radius = m }"},
    {"edge line wall", "segment", "segment { from = {x, y}, to = {x, y} }"},
    {"poly convex mesh triangle", "polygon", "polygon { vertices = {{x, y}, ...} }"},
    {"terrain heightfield ground", "chain", "chain { points = {{x, y}, ...} }"},
    {"ray_cast ray segment_query", "raycast", "raycast(from, to)"},
    {"simulate advance update tick", "run", "run { duration = seconds }"},
    {"on_collision collision_handler on_contact begin_contact", "on",
     "on(\"contact_begin\", function(event) end)"},
    {"space scene engine simulation sim", "world", "world {}"},
    // runs
    {"time t seconds until", "duration", "duration = seconds"},
    {"n count frames iterations", "steps", "steps = number"},
    {"until condition stop", "until_", "until_ = function(world) return true end"},
    // gradients and searches
    {"gradient derivative", "grad", "grad(f, p)"},
    {"minimise minimize optimise", "optimize", "optimize.minimize(f, p)"},
};

// ---- Words ------------------------------------------------------------------------------------

static bool remedy_is_known(const char *name, const char *const *known, int count) {
  for (int i = 0; i < count; i++) {
    if (strcmp(known[i], name) == 0) {
      return true;
    }
  }
  return false;
}

// True if the list of words, separated by blanks, contains this one.
static bool remedy_has_word(const char *words, const char *word) {
  size_t length = strlen(word);
  for (const char *at = words; *at != '\0'; at += *at == ' ') {
    size_t end = strcspn(at, " ");
    if (end == length && memcmp(at, word, length) == 0) {
      return true;
    }
    at += end;
  }
  return false;
}

// linearVelocity becomes linear_velocity.
static void remedy_to_snake_case(const char *word, char snake[WORD_SIZE]) {
  int length = 0;
  for (int i = 0; word[i] != '\0' && length < WORD_SIZE - 2; i++) {
    if (isupper((unsigned char)word[i]) && i > 0 && islower((unsigned char)word[i - 1])) {
      snake[length++] = '_';
    }
    snake[length++] = (char)tolower((unsigned char)word[i]);
  }
  snake[length] = '\0';
}

static bool remedy_drop_prefix(char *word) {
  static const char *const prefixes[] = {"set_", "get_", "add_", "create_", "new_", "make_"};
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
    size_t length = strlen(prefixes[i]);
    if (strncmp(word, prefixes[i], length) == 0 && word[length] != '\0') {
      memmove(word, word + length, strlen(word + length) + 1);
      return true;
    }
  }
  return false;
}

static bool remedy_drop_suffix(char *word) {
  static const char *const suffixes[] = {"_joint", "_shape", "_body", "_constraint"};
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    size_t length = strlen(suffixes[i]), all = strlen(word);
    if (all > length && strcmp(word + all - length, suffixes[i]) == 0) {
      word[all - length] = '\0';
      return true;
    }
  }
  return false;
}

// ---- Look-up ----------------------------------------------------------------------------------

// Looks up the word. If `own`, the word may also be the sim2d name itself, as in set_velocity
// without its prefix.
static bool remedy_look_up(const char *word, bool own, const char *const *known, int count,
                           char remedy[S2_REMEDY_SIZE]) {
  // A matching row shows how to use the name. Otherwise the message shows only the name.
  for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
    const Remedy *row = &remedies[i];
    if ((remedy_has_word(row->words, word) || (own && strcmp(row->name, word) == 0)) &&
        remedy_is_known(row->name, known, count)) {
      snprintf(remedy, S2_REMEDY_SIZE, "%s", row->write);
      return true;
    }
  }
  if (own && remedy_is_known(word, known, count)) {
    snprintf(remedy, S2_REMEDY_SIZE, "%s", word);
    return true;
  }
  return false;
}

bool s2_remedy_find(const char *word, const char *const *known, int count,
                    char remedy[S2_REMEDY_SIZE]) {
  // Try the word in snake_case first, then without prefixes and suffixes of other engines.
  char snake[WORD_SIZE] = "";
  remedy_to_snake_case(word, snake);
  bool own = strcmp(snake, word) != 0;
  bool found = remedy_look_up(snake, own, known, count, remedy);
  if (!found && remedy_drop_prefix(snake)) {
    own = true;
    found = remedy_look_up(snake, own, known, count, remedy);
  }
  if (!found && remedy_drop_suffix(snake)) {
    found = remedy_look_up(snake, true, known, count, remedy);
  }
  return found;
}
