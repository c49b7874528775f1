#include "view/frames.h"

S2Status s2_frames_show(S2Frames *frames, S2Server *server, S2World *world) {
  S2_TRY(s2_moment_capture(&frames->moment, world));
  S2S2dBytes *bytes = &frames->bytes;
  if (!s2_s2d_same_scene(&frames->scene, &frames->moment)) {
    bytes->size = 0;
    s2_s2d_put_header(bytes);
    S2_TRY(s2_s2d_put_scene(bytes, &frames->past, &frames->moment));
    s2_server_put(server, S2_SERVER_SCENE, bytes->at, bytes->size);
  }
  bytes->size = 0; // always send key frames, because clients may miss earlier frames
  S2_TRY(s2_s2d_put_frame(bytes, &frames->past, &frames->moment, true));
  S2_TRY(s2_s2d_put_annotations(bytes, &frames->moment));
  s2_server_put(server, S2_SERVER_FRAME, bytes->at, bytes->size);
  return s2_ok();
}

void s2_frames_restart(S2Frames *frames) {
  frames->scene.bytes.size = 0;
  frames->moment.revision = 0; // the revisions of another world are not comparable
}

void s2_frames_free(S2Frames *frames) {
  s2_moment_free(&frames->moment);
  s2_s2d_past_free(&frames->past);
  s2_s2d_scene_free(&frames->scene);
  s2_s2d_bytes_free(&frames->bytes);
}
