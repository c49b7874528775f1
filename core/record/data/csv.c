#include "record/data/csv.h"

#include "record/data/data_formats.h"

#include <string.h>

void s2_csv_header(S2Output *output) {
  s2_output_text(output, "time_s,body,name,angle_rad,x_m,y_m,omega_rad_s,vx_m_s,vy_m_s\n");
}

enum { NUMBERS = 6, NUMBER_ROOM = 26 }; // length of "-1.2345678901234567e-123,", with a margin

static char *csv_put_body(char *at, const S2MomentBody *body) {
  const double numbers[NUMBERS] = {body->q[0], body->q[1], body->q[2],
                                   body->v[0], body->v[1], body->v[2]};
  for (int k = 0; k < NUMBERS; k++) {
    *at++ = ',';
    at += s2_number_exact(at, numbers[k]);
  }
  *at++ = '\n';
  return at;
}

static char *put_serial(char *at, uint32_t serial) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = (char)('0' + serial % 10);
    serial /= 10;
  } while (serial > 0);
  while (count > 0) {
    *at++ = digits[--count];
  }
  return at;
}

// Buffer rows, because each write takes the lock of the file.
void s2_csv_frame(S2Output *output, const S2Moment *moment) {
  enum { GATHERED = 1 << 15 };
  char time[S2_NUMBER_SIZE];
  // All rows of a frame have the same time.
  size_t time_length = s2_number_exact(time, moment->time);
  char rows[GATHERED + 2 * S2_NUMBER_SIZE + NUMBERS * NUMBER_ROOM + S2_NUMBER_SIZE], *at = rows;
  // Buffer the numbers to avoid small writes, but write names directly.
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    memcpy(at, time, time_length);
    at += time_length;
    *at++ = ',';
    at = put_serial(at, body->id.serial);
    *at++ = ',';
    if (body->name[0] != '\0') {
      s2_output_bytes(output, rows, (size_t)(at - rows));
      s2_csv_text(output, body->name);
      at = rows;
    }
    at = csv_put_body(at, body);
    if (at - rows > GATHERED) {
      s2_output_bytes(output, rows, (size_t)(at - rows));
      at = rows;
    }
  }
  s2_output_bytes(output, rows, (size_t)(at - rows));
}
