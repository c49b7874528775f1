// Private to core/dynamics/program: the data for steps of an island. The table describes the
// structure and is the same for all islands of one kind. The constants belong to a single island.
// compile.c makes both when the world changes.
#ifndef S2_TABLE_H
#define S2_TABLE_H

#include <stdbool.h>
#include <stdint.h>

// Capacity of a table. The general path steps larger islands.
enum {
  S2_TABLE_NODES = 8,   // unknown bodies
  S2_TABLE_GROUNDS = 4, // other bodies, including the world
  S2_TABLE_SEATS = S2_TABLE_NODES + S2_TABLE_GROUNDS,
  S2_TABLE_JOINTS = 12,   // joints with two rows each
  S2_TABLE_BLOCKS = 40,   // blocks below the diagonal of the matrix, including fill-in
  S2_TABLE_FILLS = 72,    // products whose sums form the matrix
  S2_TABLE_TARGETS = 160, // blocks that change during elimination
  S2_TABLE_PIECES = 8,    // pieces of a step by the two-stage flow
};

typedef enum S2TableType { S2_TABLE_HINGE, S2_TABLE_SLIDER } S2TableType;

// The effect of impulses of joint `push` on the row velocities of joint `see` through a common
// node.
typedef struct S2TableFill {
  int16_t node, see, see_side, push, push_side;
  int16_t block; // -1 for the diagonal block of `see`
} S2TableFill;

// Bodies have seats: first the nodes in ascending order of slots, then the grounds in the order of
// the joints. The matrix J M^-1 J' has one block row per joint, in the order of
// s2_blocksparse_init.
typedef struct S2Table {
  int32_t stock; // S2Stock: the kernel that was compiled for this table
  int32_t nodes, grounds, joints, blocks, fills, targets;
  bool floats;                         // true if the island is not attached to any ground
  bool rides;                          // true if any ground moves
  bool rattles;                        // true if the island steps by the two-stage flow
  bool goes[S2_TABLE_GROUNDS];         // per ground: true if it moves
  bool stands[S2_TABLE_GROUNDS];       // per ground: true if it is the world
  int16_t type[S2_TABLE_JOINTS];       // S2TableType
  int16_t a[S2_TABLE_JOINTS];          // seats
  int16_t b[S2_TABLE_JOINTS];          //
  int16_t order[S2_TABLE_JOINTS];      // joints in the order of elimination
  int16_t place[S2_TABLE_JOINTS];      // place[order[k]] = k
  bool extends[S2_TABLE_JOINTS];       // true if column k + 1 has the rows of column k
  int16_t column[S2_TABLE_JOINTS + 1]; // the first block of each column
  int16_t row[S2_TABLE_BLOCKS];        // per block: row of the block
  int16_t row_start[S2_TABLE_JOINTS + 1];
  int16_t row_column[S2_TABLE_BLOCKS]; // the blocks, sorted by rows
  int16_t row_block[S2_TABLE_BLOCKS];
  uint8_t target[S2_TABLE_TARGETS]; // changed blocks, in the order of elimination
  S2TableFill fill[S2_TABLE_FILLS];
} S2Table;

// Numbers that are constant until the world changes. `Number` is a double, or a vector with one
// double per lane.
#define S2_TABLE_CONSTANTS(Number)                                                                 \
  struct {                                                                                         \
    Number inertia, mass, inverse[2]; /* 1/inertia, 1/mass */                                      \
    Number weight[2];                 /* N */                                                      \
  } node[S2_TABLE_NODES];                                                                          \
  struct {                                                                                         \
    Number arm_a[2], arm_b[2]; /* m, in body axes */                                               \
    Number across[2];          /* slider: direction across the axis, in b's frame */               \
    Number angle;              /* rad: angle of a relative to b at creation */                     \
    Number swing[3];           /* bounds for turning forces, see joint_swing() */                  \
    Number size;               /* m: length that converts the joint's angle */                     \
  } joint[S2_TABLE_JOINTS];                                                                        \
  Number h, length, tolerance, speed; /* s, m, 1, m/s: smallest velocity scale */

// Inputs and outputs of a step.
#define S2_TABLE_STATE(Number)                                                                     \
  Number q[S2_TABLE_NODES][3], v[S2_TABLE_NODES][3];                                               \
  Number force[S2_TABLE_NODES][3]; /* forces that the program applied */                           \
  Number ground_q[S2_TABLE_GROUNDS][3], ground_v[S2_TABLE_GROUNDS][3];                             \
  Number lambda[S2_TABLE_JOINTS][2]; /* N s, N m s: last step on input, this step on output */     \
  Number acted[S2_TABLE_JOINTS];     /* s: duration of these impulses */                           \
  Number reaction[S2_TABLE_JOINTS][3];                                                             \
  Number corrected[S2_TABLE_NODES][3]; /* N m s, N s: S2Step.corrected, if floating */             \
  Number residual, joint, balance;     /* S2Residual.scaled, joint and dynamics */                 \
  Number error;                        /* m */                                                     \
  Number passes;                       /* number of projections, or of pieces */                   \
  Number missed;                       /* nonzero if the written results are invalid */

typedef struct S2Constants {
  S2_TABLE_CONSTANTS(double)
} S2Constants;

typedef struct S2TableState {
  S2_TABLE_STATE(double)
} S2TableState;

// Adjoints of a step. Input: those of the state after the step and, if they are asked for, of the
// impulses and reactions of joints. Output: those of the state before it, of the applied forces,
// and of the ground.
#define S2_TABLE_BARS(Number)                                                                      \
  Number q[S2_TABLE_NODES][3], v[S2_TABLE_NODES][3];                                               \
  Number force[S2_TABLE_NODES][3];                                                                 \
  Number ground_q[S2_TABLE_GROUNDS][3], ground_v[S2_TABLE_GROUNDS][3];                             \
  Number lambda[S2_TABLE_JOINTS][2], reaction[S2_TABLE_JOINTS][3];                                 \
  Number missed; /* nonzero if a matrix is poor, so the adjoints are invalid */

typedef struct S2TableBars {
  S2_TABLE_BARS(double)
} S2TableBars;

// The record of a step by the two-stage flow, for its derivative. It starts with a head: q of the
// nodes before the step, q and v of the grounds, and the number of pieces. For each piece follow q
// and v of the nodes after it, and the impulses l and k of both stages. Numbers of numbers:
static inline int s2_table_head(const S2Table *table) {
  return 3 * table->nodes + 6 * table->grounds + 1;
}
static inline int s2_table_piece(const S2Table *table) {
  return 6 * table->nodes + 4 * table->joints;
}

// Steps 1, 4 or 8 islands side by side, one in each lane. The name ends in the number of lanes.
// Entry k of the structs above is at [lanes * k + lane]. Lanes are independent: each gets the same
// bits as in a separate step. The memory must be aligned to 8 * lanes bytes. Every processor
// supports 1 lane. `record` is NULL, or has room for the head and S2_TABLE_PIECES pieces.
typedef void S2TableKernel(const S2Table *table, const void *constants, void *state, void *record);
// Computes the adjoints (S2TableBars) of a recorded step, in the same way. `asked`: true if the
// adjoints of impulses and reactions are set; otherwise they count as 0.
typedef void S2TableAdjoint(const S2Table *table, const void *constants, const void *record,
                            bool asked, void *bars);
S2TableKernel s2_table_step_1;
S2TableAdjoint s2_table_adjoint_1;
#ifdef S2_HAVE_LANES
S2TableKernel s2_table_step_4, s2_table_step_8;
S2TableAdjoint s2_table_adjoint_4, s2_table_adjoint_8;
#endif

#endif
