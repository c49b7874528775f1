#include "record/csv.h"

#include "record/data_formats.h"

#include <string.h>

void s2_csv_header(S2Output *output) {
  s2_output_text(output, "time_s,body,name,angle_rad,x_m,y_m,omega_rad_s,vx_m_s,vy_m_s\n");
}

void s2_csv_frame(S2Output *output, const S2Moment *moment) {
  enum { NUMBERS = 6 };
  char time[S2_NUMBER_SIZE];
  s2_number_exact(time, moment->time);
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    s2_output_format(output, "%s,%lu,", time, (unsigned long)body->id.serial);
    s2_csv_text(output, body->name);
    const double numbers[NUMBERS] = {body->q[0], body->q[1], body->q[2],
                                     body->v[0], body->v[1], body->v[2]};
    char row[NUMBERS * (S2_NUMBER_SIZE + 1) + 1], *at = row;
    for (int k = 0; k < NUMBERS; k++) {
      *at++ = ',';
      s2_number_exact(at, numbers[k]);
      at += strlen(at);
    }
    *at++ = '\n';
    s2_output_bytes(output, row, (size_t)(at - row)); // one call a row: each takes the file's lock
  }
}
