// Functions that print statistics after the run.
#ifndef S2_COMMAND_STATS_H
#define S2_COMMAND_STATS_H

#include "lua/base/session.h"

void s2_command_stats_print(const S2Session *session); // Prints to stderr.
// Prints the audit findings for --audit: "sim2d: --audit: findings: jumps 3, the first: ..."
void s2_command_findings_print(const S2Session *session);

#endif
