// Private to core/mcp: size limits of s2_lemke_solve, which is declared in solvers.h.
#ifndef S2_LEMKE_H
#define S2_LEMKE_H

// s2_lemke_solve returns S2_UNSUPPORTED for larger problems, because its work grows with the cube
// of the size. The interior-point method is faster for such problems. 64 contacts with friction
// give a dense LCP of 256 rows.
enum {
  S2_LEMKE_MAX_CONTACTS = 256,
  S2_LEMKE_MAX_JOINT_ROWS = 192, // limit of bilateral rows: three for each of 64 rigid joints
};

#endif
