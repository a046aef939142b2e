#include "helper/confine.h"
bool confine_before_engine(struct confinement *confinement, const struct helper_start *start)
{
    (void)start;
    confinement->can_jit = true;
    return true;
}
bool confine_after_engine(struct confinement *confinement, const struct helper_start *start)
{
    (void)confinement, (void)start;
    return true;
}
