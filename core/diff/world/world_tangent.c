#include "diff/world/world_tangent.h"

#include "base/memory.h"

#include <string.h>

enum { CONTACT_NUMBERS = 6 };

// The numbers of a joint that a step writes. Its other numbers are parameters.
static const struct {
  S2JointNumber first, last;
} stepped[] = {{S2_OF_GOAL, S2_OF_GOAL_LAST},
               {S2_OF_RATE, S2_OF_RATE_LAST},
               {S2_OF_IMPULSE, S2_OF_IMPULSE_LAST},
               {S2_OF_REACTION_TIME, S2_OF_REACTION_TIME_LAST},
               {S2_OF_REACTION, S2_OF_REACTION_LAST}};

enum { STEPPED = sizeof stepped / sizeof *stepped };

// ---- Columns ----------------------------------------------------------------------------------

static void tangents_fit(S2WorldGradient *column, const S2WorldGradient *like) {
  s2_world_gradient_add(column, like); // grows to the size of the world, including contacts
  s2_world_gradient_clear(column);
}

void s2_world_tangents_start(S2WorldTangents *tangents, const S2WorldGradient *like, int columns) {
  if (columns > tangents->columns) {
    size_t had = (size_t)tangents->columns, wanted = (size_t)columns;
    tangents->of = s2_memory_grow(tangents->of, wanted * sizeof *tangents->of);
    memset(tangents->of + had, 0, (wanted - had) * sizeof *tangents->of);
    tangents->columns = columns;
  }
  for (int j = 0; j < tangents->columns; j++) {
    tangents_fit(&tangents->of[j], like);
  }
}

void s2_world_tangents_free(S2WorldTangents *tangents) {
  for (int j = 0; j < tangents->columns; j++) {
    s2_world_gradient_free(&tangents->of[j]);
  }
  s2_memory_free(tangents->of);
  s2_memory_free(tangents->fresh);
  *tangents = (S2WorldTangents){0};
}

double *s2_world_tangents_fresh(S2WorldTangents *tangents, int rows) {
  size_t wanted = (size_t)rows * (size_t)tangents->columns;
  if (wanted > tangents->fresh_capacity) {
    tangents->fresh = s2_memory_grow(tangents->fresh, sizeof(double) * wanted);
    tangents->fresh_capacity = wanted;
  }
  return tangents->fresh;
}

void s2_world_tangents_add(const S2WorldTangents *tangents, S2Place place, double factor,
                           double *row) {
  for (int j = 0; j < tangents->columns; j++) {
    double tangent = *s2_place_gradient(&tangents->of[j], place);
    row[j] += tangent == 0 ? 0 : factor * tangent;
  }
}

void s2_world_tangents_set(S2WorldTangents *tangents, S2Place place, const double *row) {
  for (int j = 0; j < tangents->columns; j++) {
    *s2_place_gradient(&tangents->of[j], place) = row[j];
  }
}

void s2_world_tangents_copy(S2WorldTangents *to, const S2WorldTangents *from) {
  for (int j = 0; j < to->columns; j++) {
    s2_world_gradient_clear(&to->of[j]);
    if (from != NULL && j < from->columns) {
      s2_world_gradient_add(&to->of[j], &from->of[j]);
    }
  }
}

// ---- Products ---------------------------------------------------------------------------------

// The arrays of a gradient as arrays of doubles.
typedef struct Part {
  const double *at;
  size_t count;
} Part;

enum { PARTS = 7 };

static void tangents_parts(const S2WorldGradient *g, Part parts[PARTS]) {
  size_t slots = 3 * (size_t)g->slots, number = sizeof(double);
  const Part all[PARTS] = {
      {g->q, slots},
      {g->v, slots},
      {g->f, slots},
      {(const double *)g->body, (size_t)g->slots * sizeof *g->body / number},
      {(const double *)g->piece, (size_t)g->pieces * sizeof *g->piece / number},
      {(const double *)g->vertex, (size_t)g->vertices * sizeof *g->vertex / number},
      {(const double *)g->joint, (size_t)g->joints * sizeof *g->joint / number},
  };
  memcpy(parts, all, sizeof all);
}

void s2_world_tangents_product(const S2WorldTangents *tangents, const S2WorldGradient *bar,
                               double *row) {
  Part of_bar[PARTS], of_column[PARTS];
  tangents_parts(bar, of_bar);
  for (int j = 0; j < tangents->columns; j++) {
    tangents_parts(&tangents->of[j], of_column);
    for (int p = 0; p < PARTS; p++) {
      size_t count = of_bar[p].count < of_column[p].count ? of_bar[p].count : of_column[p].count;
      for (size_t i = 0; i < count; i++) {
        double g = of_bar[p].at[i];
        if (g != 0 && of_column[p].at[i] != 0) {
          row[j] += g * of_column[p].at[i];
        }
      }
    }
  }
  for (int i = 0; i < bar->contacts; i++) {
    for (int k = 0; k < CONTACT_NUMBERS; k++) {
      S2Place place = s2_place(S2_PLACE_CONTACT, i, k);
      double g = *s2_place_gradient((S2WorldGradient *)bar, place); // only for reading
      if (g != 0) {
        s2_world_tangents_add(tangents, place, g, row);
      }
    }
  }
  const double settings[] = {bar->gravity.x, bar->gravity.y, bar->dt,
                             bar->alpha,     bar->beta,      bar->time};
  for (int i = 0; i <= S2_OF_TIME; i++) {
    if (settings[i] != 0) {
      s2_world_tangents_add(tangents, s2_place(S2_PLACE_WORLD, 0, i), settings[i], row);
    }
  }
}

// ---- The places that a step writes ------------------------------------------------------------

int s2_world_stepped_most(const S2WorldGradient *bar) {
  int of_joint = 0;
  for (int k = 0; k < STEPPED; k++) {
    of_joint += (int)stepped[k].last - (int)stepped[k].first + 1;
  }
  return 9 * bar->slots + of_joint * bar->joints + CONTACT_NUMBERS * bar->contacts + 1;
}

static int stepped_add(const S2WorldGradient *bar, S2Place *places, int count, S2Place place) {
  places[count] = place;
  return count + (*s2_place_gradient((S2WorldGradient *)bar, place) != 0); // only for reading
}

int s2_world_stepped_places(const S2WorldGradient *bar, S2Place *places) {
  static const S2PlaceKind kinds[] = {S2_PLACE_Q, S2_PLACE_V, S2_PLACE_F};
  int count = 0;
  for (int i = 0; i < 9 * bar->slots; i++) {
    count = stepped_add(bar, places, count, s2_place(kinds[i % 3], i / 9, i / 3 % 3));
  }
  for (int i = 0; i < bar->joints; i++) {
    for (int k = 0; k < STEPPED; k++) {
      for (int number = (int)stepped[k].first; number <= (int)stepped[k].last; number++) {
        count = stepped_add(bar, places, count, s2_place(S2_PLACE_JOINT, i, number));
      }
    }
  }
  for (int i = 0; i < CONTACT_NUMBERS * bar->contacts; i++) {
    S2Place place = s2_place(S2_PLACE_CONTACT, i / CONTACT_NUMBERS, i % CONTACT_NUMBERS);
    count = stepped_add(bar, places, count, place);
  }
  return stepped_add(bar, places, count, s2_place(S2_PLACE_WORLD, 0, S2_OF_TIME));
}
