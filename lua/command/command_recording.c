#include "lua/command/command_recording.h"

#include "base/memory.h"
#include "base/text.h"
#include "dynamics/annotation.h"
#include "record/data/data.h"
#include "record/s2d/output.h"
#include "record/s2d/s2d.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_WRONG_USAGE = 2 };

static int recording_fail(int status, const char *message) {
  fflush(stdout);
  fprintf(stderr, "sim2d: %s\n", message);
  return status;
}

static int recording_usage(const char *problem, const char *word) {
  fprintf(stderr,
          "sim2d: %s%s%s\n"
          "usage: sim2d inspect FILE.s2d [--json] [--frame N]\n"
          "       sim2d replay FILE.s2d [OUT [--width N] [--view-follow BODY] [--trails] ...]\n"
          "       sim2d replay FILE.s2d --validate [--run[=SCRIPT]]\n",
          problem, word == NULL ? "" : ": ", word == NULL ? "" : word);
  return EXIT_WRONG_USAGE;
}

// ---- Summary ----------------------------------------------------------------------------------

typedef struct Summary {
  uint64_t frames;
  bool cut, damaged; // the end mark is missing; a frame was unreadable
  double first, last;
  int bodies_least, bodies_most, joints_most, contacts_most;
  double energy_least, energy_most; // J; NAN if not recorded
  double residual;
  S2Plots plots;
} Summary;

static S2Status recording_summarise(S2Replay *replay, Summary *summary) {
  *summary = (Summary){.frames = s2_replay_frame_count(replay),
                       .cut = !s2_replay_complete(replay),
                       .first = (double)NAN,
                       .last = (double)NAN,
                       .energy_least = (double)NAN,
                       .energy_most = (double)NAN,
                       .residual = (double)NAN};
  // Make one pass over the frames, because they may not all fit into memory.
  s2_replay_plots(replay, &summary->plots);
  for (uint64_t i = 0; i < summary->frames; i++) {
    const S2Moment *moment = NULL;
    S2_TRY(s2_replay_frame(replay, i, &moment));
    int bodies = moment->bodies.count;
    summary->first = i == 0 ? moment->time : summary->first;
    summary->last = moment->time;
    summary->bodies_least =
        i == 0 || bodies < summary->bodies_least ? bodies : summary->bodies_least;
    summary->bodies_most = bodies > summary->bodies_most ? bodies : summary->bodies_most;
    if (moment->joints.count > summary->joints_most) {
      summary->joints_most = moment->joints.count;
    }
    if (moment->contacts.count > summary->contacts_most) {
      summary->contacts_most = moment->contacts.count;
    }
    double energy = moment->kinetic + moment->potential;
    // fmin and fmax ignore a NAN argument
    summary->energy_least = fmin(summary->energy_least, energy);
    summary->energy_most = fmax(summary->energy_most, energy);
    summary->residual = fmax(summary->residual, moment->residual);
  }
  return s2_ok();
}

// Prints a line of the summary. Both texts are read from the file.
static void print_entry(const char *key, const char *value) {
  enum { WIDTH = 15 };
  char name[4 * WIDTH + 1];
  s2_text_escape(name, sizeof name, key);
  printf("  %-15s ", name);
  s2_text_print(stdout, S2_TEXT_PLAIN, value);
  puts("");
}

static void print_run(const S2Run *run) {
  for (int i = 0; i < run->entries.count; i++) {
    const char *key = run->entries.at[i].key;
    if (strcmp(key, "word") != 0 &&
        (strcmp(key, "every") != 0 || strcmp(run->entries.at[i].value, "1") != 0)) {
      print_entry(key, run->entries.at[i].value);
    }
  }
  if (s2_run_get(run, "word", 0) != NULL) {
    printf("  %-15s ", "command");
    s2_command_print_run(stdout, run);
  }
}

static void print_summary(const char *path, S2Replay *replay, const Summary *summary) {
  printf("%s: .s2d recording, version %d, %s\n", path, S2_S2D_VERSION,
         summary->cut ? "cut short (it was not closed, but it contains all complete frames)"
                      : "complete");
  // Print the data of the run first, then the data of the frames.
  print_run(s2_replay_run(replay));
  printf("  %-15s %" PRIu64 "\n", "frames", summary->frames);
  for (int i = 0; i < summary->plots.list.count; i++) {
    print_entry(i == 0 ? "plots" : "", summary->plots.list.at[i].name);
  }
  if (summary->frames == 0) {
    return;
  }
  printf("  %-15s %.6g s, from %.6g s to %.6g s\n", "time", summary->last - summary->first,
         summary->first, summary->last);
  // Numbers that change are printed as a range.
  if (summary->bodies_least != summary->bodies_most) {
    printf("  %-15s %d to %d\n", "bodies", summary->bodies_least, summary->bodies_most);
  } else {
    printf("  %-15s %d\n", "bodies", summary->bodies_most);
  }
  printf("  %-15s %d\n", "joints", summary->joints_most);
  printf("  %-15s %d at most\n", "contacts", summary->contacts_most);
  if (!isnan(summary->energy_least)) {
    printf("  %-15s %.6g J to %.6g J\n", "energy", summary->energy_least, summary->energy_most);
  }
  if (!isnan(summary->residual)) {
    printf("  %-15s %.3g (scaled)\n", "worst residual", summary->residual);
  }
}

// ---- JSON -------------------------------------------------------------------------------------

// JSON has no infinities and no NaN: they become null.
static void json_number(double value) {
  char text[S2_NUMBER_SIZE];
  s2_number_exact(text, value);
  fputs(isfinite(value) ? text : "null", stdout);
}

static void json_numbers(const char *name, const double *values, int count) {
  printf("\"%s\":[", name);
  for (int i = 0; i < count; i++) {
    fputs(i > 0 ? "," : "", stdout);
    json_number(values[i]);
  }
  putchar(']');
}

static void json_value(const char *name, double value) {
  printf("\"%s\":", name);
  json_number(value);
}

static void json_text(const char *text) {
  putchar('"');
  s2_text_print(stdout, S2_TEXT_JSON, text);
  putchar('"');
}

static void json_summary(S2Replay *replay, const Summary *summary) {
  const S2Run *run = s2_replay_run(replay);
  printf("{\"version\":%d,\"complete\":%s,\"run\":[", S2_S2D_VERSION,
         summary->cut ? "false" : "true");
  for (int i = 0; i < run->entries.count; i++) {
    fputs(i > 0 ? ",[" : "[", stdout);
    json_text(run->entries.at[i].key);
    putchar(',');
    json_text(run->entries.at[i].value);
    putchar(']');
  }
  printf("],\"frames\":%" PRIu64 ",", summary->frames);
  json_numbers("time", (const double[2]){summary->first, summary->last}, 2);
  printf(",\"bodies\":[%d,%d],\"joints\":%d,\"contacts\":%d,", summary->bodies_least,
         summary->bodies_most, summary->joints_most, summary->contacts_most);
  json_numbers("energy", (const double[2]){summary->energy_least, summary->energy_most}, 2);
  putchar(',');
  json_value("residual", summary->residual);
  printf(",\"plots\":[");
  for (int i = 0; i < summary->plots.list.count; i++) {
    fputs(i > 0 ? "," : "", stdout);
    json_text(summary->plots.list.at[i].name);
  }
  puts("]}");
}

static void json_bodies(const S2Moment *moment) {
  printf(",\"bodies\":[");
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    printf("%s{\"serial\":%lu,\"name\":", i > 0 ? "," : "", (unsigned long)body->id.serial);
    json_text(body->name);
    putchar(',');
    json_numbers("q", body->q, 3);
    putchar(',');
    json_numbers("v", body->v, 3);
    putchar('}');
  }
  putchar(']');
}

static void json_contacts(const S2Moment *moment) {
  printf(",\"contacts\":[");
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    printf("%s{\"a\":%d,\"b\":%d,\"sliding\":%s,", i > 0 ? "," : "", (int)contact->a,
           (int)contact->b, contact->sliding ? "true" : "false");
    json_numbers("point", (const double[2]){contact->point.x, contact->point.y}, 2);
    putchar(',');
    json_numbers("normal", (const double[2]){contact->normal.x, contact->normal.y}, 2);
    putchar(',');
    json_value("gap", contact->gap);
    putchar(',');
    json_value("normal_impulse", contact->normal_impulse);
    putchar(',');
    json_value("tangent_impulse", contact->tangent_impulse);
    putchar('}');
  }
  putchar(']');
}

static void json_joints(const S2Moment *moment) {
  printf(",\"joints\":[");
  for (int i = 0; i < moment->joints.count; i++) {
    const S2MomentJoint *joint = &moment->joints.at[i];
    printf("%s{\"a\":%d,\"b\":%d,\"name\":", i > 0 ? "," : "", (int)joint->a, (int)joint->b);
    json_text(joint->name);
    putchar(',');
    json_numbers("anchor_a", (const double[2]){joint->anchor_a.x, joint->anchor_a.y}, 2);
    putchar(',');
    json_numbers("anchor_b", (const double[2]){joint->anchor_b.x, joint->anchor_b.y}, 2);
    putchar(',');
    json_numbers("impulse", (const double[2]){joint->impulse.x, joint->impulse.y}, 2);
    putchar(',');
    json_value("angle", joint->angle);
    putchar(',');
    json_value("speed", joint->speed);
    putchar('}');
  }
  putchar(']');
}

static void json_annotations(const S2Moment *moment) {
  printf(",\"annotations\":[");
  for (int i = 0; i < moment->annotations.count; i++) {
    const S2MomentAnnotation *of = &moment->annotations.at[i];
    printf("%s{\"type\":\"%s\",\"color\":%" PRIu32 ",\"text\":", i > 0 ? "," : "",
           s2_annotation_type_name(of->type), of->color);
    json_text(of->text);
    putchar(',');
    json_numbers("from", (const double[2]){of->from.x, of->from.y}, 2);
    putchar(',');
    json_numbers("to", (const double[2]){of->to.x, of->to.y}, 2);
    putchar(',');
    json_value("size", of->size);
    putchar(',');
    json_value("letters", of->letters);
    putchar('}');
  }
  putchar(']');
}

static void json_frame(const S2Moment *moment) {
  // Print the numbers of the world, then the channels, then the lists.
  printf("{\"step\":%" PRIu64 ",\"hash\":\"%016" PRIx64 "\",", moment->step, moment->hash);
  json_value("time", moment->time);
  putchar(',');
  json_value("kinetic", moment->kinetic);
  putchar(',');
  json_value("potential", moment->potential);
  putchar(',');
  json_numbers("momentum", moment->momentum, 3);
  putchar(',');
  json_value("residual", moment->residual);
  putchar(',');
  json_value("iterations", moment->iterations);
  // Watched values.
  printf(",\"channels\":[");
  for (int i = 0; i < moment->channels.count; i++) {
    fputs(i > 0 ? ",{\"name\":" : "{\"name\":", stdout);
    json_text(moment->channels.at[i].name);
    printf(",\"unit\":");
    json_text(moment->channels.at[i].unit);
    putchar(',');
    json_value("value", moment->channels.at[i].value);
    putchar('}');
  }
  putchar(']');
  json_bodies(moment);
  json_contacts(moment);
  json_joints(moment);
  json_annotations(moment);
  puts("}");
}

static void print_frame(uint64_t index, const S2Moment *moment) {
  printf("frame %" PRIu64 ": step %" PRIu64 ", t = %.9g s, hash %016" PRIx64 "\n", index,
         moment->step, moment->time, moment->hash);
  if (!isnan(moment->kinetic)) {
    printf("  energy %.6g J + %.6g J, residual %.3g, %.0f iterations\n", moment->kinetic,
           moment->potential, moment->residual, moment->iterations);
  }
  // Names are read from the file, so each is escaped and printed on one line.
  for (int i = 0; i < moment->channels.count; i++) {
    const S2MomentChannel *channel = &moment->channels.at[i];
    char name[4 * S2_NAME_SIZE], unit[4 * S2_UNIT_SIZE];
    s2_text_escape(name, sizeof name, channel->name);
    s2_text_escape(unit, sizeof unit, channel->unit);
    printf("  %s = %.9g %s\n", name, channel->value, unit);
  }
  // The table is 96 columns wide.
  printf("  %-16s %12s %12s %12s %12s %12s %12s\n", "body", "angle", "x", "y", "omega", "vx", "vy");
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    char name[17]; // width of the column and a NUL
    s2_text_escape(name, sizeof name, body->name);
    if (name[0] == '\0') {
      snprintf(name, sizeof name, "%d", i + 1);
    }
    printf("  %-16s %12.6g %12.6g %12.6g %12.6g %12.6g %12.6g\n", name, body->q[0], body->q[1],
           body->q[2], body->v[0], body->v[1], body->v[2]);
  }
  printf("  %d contacts, %d joints\n", moment->contacts.count, moment->joints.count);
}

// ---- Commands ---------------------------------------------------------------------------------

typedef struct Words {
  const char *path, *output, *script; // script "": --run has no value
  bool json, validate, run, has_frame;
  uint64_t frame;
  S2Status status; // status of reading the picture options
} Words;

// Reads the words after the tool's name. `line` receives the picture options of replay, and is NULL
// for inspect. Returns NULL, or a description of the error, with the bad word in *wrong.
static const char *read_words(S2CommandLine *line, int argc, char **argv, Words *words,
                              const char **wrong) {
  bool inspect = line == NULL;
  *words = (Words){0};
  // Options and names may come in any order.
  for (int i = 1; i < argc; i++) {
    const char *word = *wrong = argv[i];
    if (inspect && strcmp(word, "--json") == 0) {
      words->json = true;
    } else if (!inspect && strcmp(word, "--validate") == 0) {
      words->validate = true;
    } else if (!inspect && (strcmp(word, "--run") == 0 || strncmp(word, "--run=", 6) == 0)) {
      words->run = true;
      words->script = word[5] == '=' ? word + 6 : "";
    } else if (inspect && strcmp(word, "--frame") == 0) {
      const char *number = i + 1 < argc ? argv[++i] : "";
      char *end = NULL;
      errno = 0;
      words->frame = strtoull(number, &end, 10);
      words->has_frame = true;
      *wrong = number;
      if (*number < '0' || *number > '9' || *end != '\0' || errno != 0) {
        return "--frame needs the number of a frame, 0 or more";
      }
    } else if (word[0] == '-' && word[1] != '\0') {
      if (inspect) {
        return "unknown option";
      }
      words->status = s2_command_line_read_picture(line, argc, argv, &i);
      if (words->status.code != S2_OK) {
        *wrong = NULL;
        return words->status.message;
      }
    } else if (words->path == NULL) {
      words->path = word;
    } else if (!inspect && words->output == NULL) {
      words->output = word;
    } else {
      return "unexpected word";
    }
  }
  // Check options that require another option.
  *wrong = NULL;
  if (words->run && !words->validate) {
    return "--run requires --validate";
  }
  return words->path == NULL ? "the name of a recording is missing" : NULL;
}

int s2_command_inspect(int argc, char **argv) {
  Words words;
  const char *wrong = NULL, *problem = read_words(NULL, argc, argv, &words, &wrong);
  if (problem != NULL) {
    return recording_usage(problem, wrong);
  }
  S2Replay *replay = NULL;
  S2Status status = s2_replay_open(words.path, &replay);
  if (status.code != S2_OK) {
    return recording_fail(EXIT_WRONG_USAGE, status.message);
  }
  // Print one frame, or a short summary of all frames.
  if (words.has_frame) {
    const S2Moment *moment = NULL;
    status = s2_replay_frame(replay, words.frame, &moment);
    if (status.code == S2_OK && words.json) {
      json_frame(moment);
    } else if (status.code == S2_OK) {
      print_frame(words.frame, moment);
    }
  } else {
    Summary summary;
    status = recording_summarise(replay, &summary);
    if (status.code == S2_OK && words.json) {
      json_summary(replay, &summary);
    } else if (status.code == S2_OK) {
      print_summary(words.path, replay, &summary);
    }
    s2_plots_free(&summary.plots);
  }
  s2_replay_close(replay);
  return status.code == S2_OK ? EXIT_SUCCESS : recording_fail(EXIT_FAILURE, status.message);
}

static bool same_file(const char *a, const char *b) {
  struct stat one, two;
  return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}

// Reports that the converted recording was incomplete.
static int recording_is_cut(S2Replay *replay, const char *path, const char *output) {
  if (s2_replay_complete(replay)) {
    return EXIT_SUCCESS;
  }
  fprintf(stderr,
          "sim2d: note: '%s' is cut short or damaged; '%s' holds the %" PRIu64
          " frames before that point\n",
          path, output, s2_replay_frame_count(replay));
  return EXIT_FAILURE;
}

// Finds the body that the view follows, in the first frame that contains this body.
static S2Status followed_of_replay(S2Replay *replay, const S2PictureWords *words,
                                   S2BodyId *follow) {
  S2Status found = s2_ok();
  *follow = (S2BodyId){0};
  for (uint64_t i = 0; words->follow != NULL && i < s2_replay_frame_count(replay); i++) {
    const S2Moment *moment = NULL;
    S2_TRY(s2_replay_frame(replay, i, &moment));
    S2Status status = s2_picture_words_body(words, moment, follow);
    if (status.code == S2_OK) {
      return status;
    }
    found = i == 0 ? status : found; // the message lists the names in the first frame
  }
  return found;
}

static int recording_convert(S2Replay *replay, const char *path, const char *output,
                             const S2PictureWords *words) {
  // Find the content of the picture before opening the output file.
  S2BodyId follow;
  S2Status status = s2_picture_words_check(words, output);
  if (status.code == S2_OK) {
    status = followed_of_replay(replay, words, &follow);
  }
  if (status.code != S2_OK) {
    return recording_fail(EXIT_WRONG_USAGE, status.message);
  }
  S2RecordOptions options = s2_picture_words_options(words, follow);
  S2Recorder *recorder = NULL;
  status = s2_recorder_open_with(output, &options, &recorder);
  if (status.code != S2_OK) {
    return recording_fail(EXIT_WRONG_USAGE, status.message);
  }
  s2_recorder_run(recorder, s2_replay_run(replay));
  // Feed the recorder frame by frame, as a running world would.
  for (uint64_t i = 0; status.code == S2_OK && i < s2_replay_frame_count(replay); i++) {
    const S2Moment *moment = NULL;
    status = s2_replay_frame(replay, i, &moment);
    if (status.code == S2_OK) {
      status = s2_recorder_moment(recorder, moment);
    }
  }
  // Plots come last, as in a live recording.
  S2Plots plots = {0};
  s2_replay_plots(replay, &plots);
  for (int i = 0; status.code == S2_OK && s2_recorder_holds_plots(recorder) && i < plots.list.count;
       i++) {
    status = s2_recorder_plot(recorder, plots.list.at[i].name, plots.list.at[i].svg);
  }
  s2_plots_free(&plots);
  // Closing can fail too, when it flushes a buffer.
  S2Status closed = s2_recorder_close(recorder);
  if (status.code == S2_OK) {
    status = closed;
  }
  return status.code == S2_OK ? recording_is_cut(replay, path, output)
                              : recording_fail(EXIT_FAILURE, status.message);
}

int s2_command_replay(S2CommandLine *line, int argc, char **argv, S2RunAgain *run) {
  Words words;
  const char *wrong = NULL, *problem = read_words(line, argc, argv, &words, &wrong);
  if (problem != NULL) {
    return recording_usage(problem, wrong);
  }
  const char *output = words.output != NULL ? words.output : line->session.record_path;
  if (words.validate && output != NULL) {
    return recording_usage("--validate writes no file", output);
  }
  S2Replay *replay = NULL;
  S2Status status = s2_replay_open(words.path, &replay);
  if (status.code != S2_OK) {
    return recording_fail(EXIT_WRONG_USAGE, status.message);
  }
  int result = EXIT_SUCCESS;
  // Validate, refuse, convert or summarise.
  if (words.validate) {
    result = s2_command_validate(replay, words.path, words.run ? words.script : NULL, run);
  } else if (output != NULL && same_file(output, words.path)) {
    result = recording_usage("a recording cannot be written over itself", output);
  } else if (output != NULL) {
    result = recording_convert(replay, words.path, output, &line->pictures);
  } else {
    Summary summary;
    status = recording_summarise(replay, &summary);
    if (status.code == S2_OK) {
      print_summary(words.path, replay, &summary);
      printf("To see it, convert it to another format:  sim2d replay %s OUT.svg (the last frame)\n",
             words.path);
    }
    result = status.code == S2_OK ? result : recording_fail(EXIT_FAILURE, status.message);
    s2_plots_free(&summary.plots);
  }
  s2_replay_close(replay);
  return result;
}
