// Private to core/mcp: what the chain must know of s2_lemke_solve (declared in solvers.h).
#ifndef S2_LEMKE_H
#define S2_LEMKE_H

// Larger problems are answered S2_UNSUPPORTED: the work grows with the cube, and beyond this size
// the interior point is faster (64 contacts with friction are a dense LCP of 256 rows).
enum {
  S2_LEMKE_MAX_CONTACTS = 256,
  S2_LEMKE_MAX_JOINT_ROWS = 192, // bilateral rows, three for each of 64 rigid joints
};

#endif
