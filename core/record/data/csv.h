// Writes trajectories as comma-separated values (RFC 4180 with line feeds). Each frame has one row
// per body.
#ifndef S2_CSV_H
#define S2_CSV_H

#include "record/moment.h"
#include "record/s2d/output.h"

// time_s,body,name,angle_rad,x_m,y_m,omega_rad_s,vx_m_s,vy_m_s. `body` is the body's serial number:
// ascending in order of creation, and never reused.
void s2_csv_header(S2Output *output);
// Numbers have 17 digits, so reading them gives exactly the same values.
void s2_csv_frame(S2Output *output, const S2Moment *moment);

#endif
