/* One attack on what was passed, without a sandbox, under Landlock, and with the filter too. */
#ifndef HALTER_BENCH_ATTACK_H
#define HALTER_BENCH_ATTACK_H

/* Prints one line: OPERATION NONE LANDLOCK BOTH. `folder` is one to make files in. */
void attack_in_tiers(const char *folder, const char *operation);

#endif
