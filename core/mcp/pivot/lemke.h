// Private to core/mcp: limits of s2_lemke_solve (declared in solvers.h) for the chain.
#ifndef S2_LEMKE_H
#define S2_LEMKE_H

// Larger problems are S2_UNSUPPORTED: the work grows with the cube of the size, and beyond it the
// interior point is faster (64 contacts with friction are a dense LCP of 256 rows).
enum {
  S2_LEMKE_MAX_CONTACTS = 256,
  S2_LEMKE_MAX_JOINT_ROWS = 192, // bilateral rows, three for each of 64 rigid joints
};

#endif
