#include "dynamics/world/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

S2Event *s2_world_event(S2World *world, S2EventType type) {
  S2Event *event = s2_array_append(world->events);
  memset(event, 0, sizeof *event);
  event->type = type;
  event->message = "";
  return event;
}

// Stores only the first warning of each step, because later warnings are usually consequences of
// the first.
void s2_world_warn(S2World *world, const char *format, ...) {
  if (world->warning[0] != 0) {
    return;
  }
  va_list args;
  va_start(args, format);
  vsnprintf(world->warning, sizeof world->warning, format, args);
  va_end(args);
  s2_world_event(world, S2_SOLVER_WARNING)->message = world->warning;
}

// Creates the impulse events only on demand. Few programs read them, and a resting scene has them
// in every step.
static void list_impulses(S2World *world) {
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    // Skip pairs that only slide or rest without a force.
    if (acted->normal_impulse > 0) {
      S2Event *event = s2_world_event(world, S2_CONTACT_IMPULSE);
      event->a = (S2BodyId){(uint32_t)acted->body_a + 1, acted->serial_a};
      event->b = (S2BodyId){(uint32_t)acted->body_b + 1, acted->serial_b};
      event->point = acted->point;
      event->normal = acted->normal;
      event->normal_impulse = acted->normal_impulse;
      event->tangent_impulse = acted->tangent_impulse;
      event->impulse = s2_acted_impulse(acted);
      event->speed = acted->speed;
    }
  }
}

const S2Event *s2_world_events(S2World *world, int *count) {
  if (!world->impulses_listed) {
    list_impulses(world);
    world->impulses_listed = true;
  }
  *count = world->events.count;
  return world->events.at;
}
