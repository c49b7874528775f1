// The measurements as a table, as JSON and as a chart.
#ifndef S2_PEERS_REPORT_H
#define S2_PEERS_REPORT_H

#include "peers/measure.h"

#include <stdio.h>

void peer_table_head(void);
void peer_table_rows(const PeerResult *result);
void peer_table_growth(const PeerResult *results, int count);
void peer_json(FILE *file, const PeerResult *results, int count);
// Bars of the median step on a logarithmic axis, with the overlap or joint error next to them.
void peer_chart(FILE *file, const PeerResult *results, int count);

// Is results[i] the first of its family?
bool peer_begins_family(const PeerResult *results, int i);

#endif
