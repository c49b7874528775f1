// Shapes of bodies and their boxes in the broad phase.
// Updates the boxes to the current positions for queries between steps.
#include "dynamics/world/world.h"

S2Shape s2_piece_shape(const S2World *world, const S2Piece *piece) {
  return (S2Shape){
      .vertices = world->vertices.at + piece->first_vertex,
      .count = piece->count,
      .radius = piece->radius,
      .has_previous = piece->has_previous,
      .has_next = piece->has_next,
      .previous = piece->previous,
      .next = piece->next_vertex,
      .sides = piece->joined
                   ? (const S2Side *)(world->vertices.at + piece->first_vertex + piece->count)
                   : NULL,
  };
}

void s2_world_refresh_boxes(S2World *world) {
  if (!world->boxes_stale) {
    return;
  }
  world->rest.boxed = false; // the next step must set its boxes again
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    if (!body->enabled) {
      continue;
    }
    S2Pose pose = s2_slot_pose(world->q.at, slot);
    for (int32_t p = body->first_shape; p != S2_NONE; p = world->pieces.at[p].next) {
      S2Shape shape = s2_piece_shape(world, &world->pieces.at[p]);
      s2_broadphase_set(world->broadphase, p, s2_shape_box(&shape, pose), s2_body_yields(body));
    }
  }
  world->boxes_stale = false;
}

void s2_world_drop_boxes(S2World *world, int32_t slot) {
  int32_t p = world->bodies.at[slot].first_shape;
  for (; p != S2_NONE; p = world->pieces.at[p].next) {
    s2_broadphase_remove(world->broadphase, p);
  }
}
