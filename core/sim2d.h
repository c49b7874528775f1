// The public C API of sim2d.
#ifndef S2_SIM2D_H
#define S2_SIM2D_H

#include "base/rng.h"
#include "base/status.h"
#include "base/text.h"
#include "base/vec.h"
#include "batch/batch.h"
#include "batch/rollout.h"
#include "dynamics/annotation.h"
#include "dynamics/control/control.h"
#include "dynamics/dynamics.h"
#include "mcp/adjoint/mcp_vjp.h"
#include "mcp/cone/ncp.h"
#include "mcp/contact/contact.h"
#include "mcp/kkt/kkt.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mcp.h"
#include "mcp/mlcp/lp.h"
#include "mcp/mlcp/mlcp.h"
#include "mcp/mlcp/qp.h"
#include "record/record.h"
#include "record/s2d/replay.h"
#include "shape/shape.h"

const char *s2_version(void); // "major.minor.patch".
// Returns the commit and compiler of this build, if they are known. An example is "0689b3e4 gcc
// 12.2.0".
const char *s2_build(void);

#endif
