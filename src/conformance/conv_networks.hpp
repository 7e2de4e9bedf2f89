// Convolutions as networks use them: what follows and surrounds one, which backends fuse and lay out anew.
#pragma once

namespace backplane::graph {

class CaseList;

void conv_networks(CaseList& list);

}  // namespace backplane::graph
