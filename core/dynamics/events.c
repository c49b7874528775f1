#include "dynamics/world.h"

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

// One text a step: the first warning is the cause, later ones most often its consequences.
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

const S2Event *s2_world_events(const S2World *world, int *count) {
  *count = world->events.count;
  return world->events.at;
}
