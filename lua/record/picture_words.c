#include "lua/record/picture_words.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "record/s2d/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WIDEST = 16384 }; // Pixels. A larger value is most likely a mistake.

// An option and the formats that it applies to.
typedef struct WordKind {
  const char *option;
  const char *formats; // also shown in messages
} WordKind;

static const WordKind kinds[S2_PICTURE_WORDS] = {
    [S2_WORD_WIDTH] = {"--width", ".svg, .png, .gif, .mp4"},
    [S2_WORD_FOLLOW] = {"--view-follow", ".svg, .png, .gif, .mp4, .html"},
    [S2_WORD_STROBE] = {"--strobe", ".svg, .png"},
    [S2_WORD_TRAILS] = {"--trails", ".svg, .png, .gif, .mp4, .html"},
    [S2_WORD_FPS] = {"--fps", ".gif, .mp4"},
    [S2_WORD_SPEED] = {"--speed", ".gif, .mp4, .html"},
};

const char *s2_picture_word_option(S2PictureWord word) {
  return kinds[word].option;
}

// ---- Values -----------------------------------------------------------------------------------

static S2Status word_positive(const char *option, const char *value, double *number) {
  char *end = NULL;
  *number = s2_number_read(value, &end);
  return end != value && *end == '\0' && isfinite(*number) && *number > 0
             ? s2_ok()
             : s2_error(S2_INVALID, "%s '%s': a positive number is expected", option, value);
}

// Reads a period or a list of times. "0.25" means a period of 0.25 s, and "0,0.5,2" means these
// three times.
static S2Status word_strobe(S2PictureWords *words, const char *value) {
  static const char *const expected =
      "--strobe '%s': a period (0.25) or ascending times (0,0.5,2), in s, are expected";
  words->strobe_count = 0;
  words->strobe_period = 0;
  if (strchr(value, ',') == NULL) {
    char *end = NULL;
    words->strobe_period = s2_number_read(value, &end);
    return end != value && *end == '\0' && isfinite(words->strobe_period) &&
                   words->strobe_period > 0
               ? s2_ok()
               : s2_error(S2_INVALID, expected, value);
  }
  // Read numbers separated by commas.
  for (const char *at = value;; at++) {
    char *end = NULL;
    double time = s2_number_read(at, &end);
    int n = words->strobe_count;
    if (n == S2_STROBE_TIMES) {
      return s2_error(S2_INVALID, "--strobe: at most %d times; use world:record for more", n);
    }
    if (end == at || (*end != ',' && *end != '\0') || !isfinite(time) ||
        (n > 0 && time <= words->strobe_times[n - 1])) {
      return s2_error(S2_INVALID, expected, value);
    }
    words->strobe_times[words->strobe_count++] = time;
    at = end;
    if (*at == '\0') {
      return s2_ok();
    }
  }
}

static S2Status word_width(S2PictureWords *words, const char *value) {
  char *end = NULL;
  long width = strtol(value, &end, 10);
  if (*value < '0' || *value > '9' || *end != '\0' || width < 16 || width > WIDEST) {
    return s2_error(S2_INVALID, "--width '%s': pixels from 16 to %d are expected", value,
                    (int)WIDEST);
  }
  words->width = (int)width;
  return s2_ok();
}

S2Status s2_picture_words_read(S2PictureWords *words, S2PictureWord word, const char *value) {
  words->given[word] = true;
  switch (word) {
  case S2_WORD_WIDTH:
    return word_width(words, value);
  case S2_WORD_STROBE:
    return word_strobe(words, value);
  case S2_WORD_FPS:
    return word_positive(kinds[word].option, value, &words->fps);
  case S2_WORD_SPEED:
    return word_positive(kinds[word].option, value, &words->speed);
  case S2_WORD_FOLLOW:
    words->follow = value;
    return s2_ok();
  case S2_WORD_TRAILS:
  case S2_PICTURE_WORDS:
    break;
  }
  return s2_ok();
}

// ---- Use --------------------------------------------------------------------------------------

// True if the suffix is in a list like ".svg, .png".
static bool word_applies(const char *formats, const char *suffix) {
  size_t length = strlen(suffix);
  for (const char *at = formats; *at != '\0' && length > 0; at++) {
    if (strncasecmp(at, suffix, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
      return true;
    }
  }
  return false;
}

S2Status s2_picture_words_check(const S2PictureWords *words, const char *path) {
  for (int i = 0; i < S2_PICTURE_WORDS; i++) {
    if (words->given[i] && !word_applies(kinds[i].formats, s2_path_suffix(path))) {
      return s2_error(S2_INVALID, "%s does not apply to '%s' (only to %s)", kinds[i].option,
                      s2_path_tail(path), kinds[i].formats);
    }
  }
  return s2_ok();
}

S2Status s2_picture_words_body(const S2PictureWords *words, const S2Moment *moment, S2BodyId *id) {
  *id = (S2BodyId){0};
  if (words->follow == NULL) {
    return s2_ok();
  }
  // Look for the name first, then for the number.
  int count = moment->bodies.count;
  for (int i = 0; i < count; i++) {
    if (strcmp(moment->bodies.at[i].name, words->follow) == 0) {
      *id = moment->bodies.at[i].id;
      return s2_ok();
    }
  }
  char *end = NULL;
  long number = strtol(words->follow, &end, 10);
  if (*end == '\0' && number >= 1 && number <= count) {
    *id = moment->bodies.at[number - 1].id;
    return s2_ok();
  }
  // Suggest the nearest name.
  const char **names = s2_memory_take(((size_t)count + 1) * sizeof *names);
  int named = 0;
  for (int i = 0; i < count; i++) {
    if (moment->bodies.at[i].name[0] != '\0') {
      names[named++] = moment->bodies.at[i].name;
    }
  }
  const char *nearest = s2_text_nearest(words->follow, names, named);
  S2Status status =
      nearest != NULL
          ? s2_error(S2_INVALID, "--view-follow '%.60s': there is no such body; did you mean '%s'?",
                     words->follow, nearest)
          : s2_error(S2_INVALID,
                     "--view-follow '%.60s': there is no such body; give its `name`, or its number "
                     "from 1 to %d in the order of creation",
                     words->follow, count);
  s2_memory_free(names);
  return status;
}

S2RecordOptions s2_picture_words_options(const S2PictureWords *words, S2BodyId follow) {
  S2RecordOptions options = s2_record_options();
  options.draw.follow = follow;
  options.draw.width = words->given[S2_WORD_WIDTH] ? words->width : options.draw.width;
  options.trails = words->given[S2_WORD_TRAILS] ? S2_TRAILS_ALL : options.trails;
  options.fps = words->given[S2_WORD_FPS] ? words->fps : options.fps;
  options.speed = words->given[S2_WORD_SPEED] ? words->speed : options.speed;
  options.strobe_period = words->strobe_period;
  options.strobe_times = words->strobe_count > 0 ? words->strobe_times : NULL;
  options.strobe_count = words->strobe_count;
  return options;
}
