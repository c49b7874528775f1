#include "view/frames.h"

#include <stdlib.h>

static void put(S2Server *server, const unsigned char *bytes, size_t size) {
  size_t at = S2_S2D_FILE_HEADER;
  if (s2_s2d_get32(bytes + at) == S2_S2D_SCENE) {
    at += S2_S2D_CHUNK_HEADER + s2_s2d_get32(bytes + at + 4);
    s2_server_put(server, S2_SERVER_SCENE, bytes, at);
  }
  s2_server_put(server, S2_SERVER_FRAME, bytes + at, size - at);
}

S2Status s2_frames_show(S2Frames *frames, S2Server *server, S2World *world) {
  S2_TRY(s2_moment_capture(&frames->moment, world));
  char *bytes = NULL;
  size_t size = 0;
  S2Output output = {.file = open_memstream(&bytes, &size)};
  if (output.file == NULL) {
    return s2_error(S2_MEMORY, "the live viewer: out of memory for a frame");
  }
  s2_s2d_start(&output);
  S2Status status = s2_s2d_frame(&frames->writer, &output, &frames->moment);
  bool written = fclose(output.file) == 0 && output.error == 0;
  if (status.code == S2_OK && written) {
    put(server, (const unsigned char *)bytes, size);
  }
  free(bytes);
  return status;
}

void s2_frames_restart(S2Frames *frames) {
  s2_s2d_free(&frames->writer);
}

void s2_frames_free(S2Frames *frames) {
  s2_s2d_free(&frames->writer);
  s2_moment_free(&frames->moment);
}
