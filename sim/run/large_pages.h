#pragma once

namespace xpusim::run {

/// Lets what this process allocates from now on lie in the host's large pages (2 MiB), as far as it
/// has them to give. A simulated chip is some tens of megabytes of small parts that are visited all
/// over: on small pages a tenth of the time of a large matrix product goes into finding them.
/// Memory is taken 2 MiB at a time then; where the host has no such pages, nothing changes.
void use_large_pages();

}  // namespace xpusim::run
