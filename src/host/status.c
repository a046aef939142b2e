/* The texts of statuses, from errors.def. */
#include "halter/halter.h"

const char *halter_strerror(int status)
{
    switch (status) {
    case HALTER_OK:
        return "success";
#define HALTER_ERROR(name, number, text)                                                           \
    case HALTER_##name:                                                                            \
        return text;
#include "halter/errors.def"
#undef HALTER_ERROR
    }
    return "unknown status";
}

const char *halter_status_name(int status)
{
    switch (status) {
    case HALTER_OK:
        return "OK";
#define HALTER_ERROR(name, number, text)                                                           \
    case HALTER_##name:                                                                            \
        return #name;
#include "halter/errors.def"
#undef HALTER_ERROR
    }
    return "UNKNOWN";
}

#define TEXT(x)  #x
#define VALUE(x) TEXT(x)

const char *halter_version(void)
{
    return VALUE(HALTER_VERSION_MAJOR) "." VALUE(HALTER_VERSION_MINOR) "." VALUE(
        HALTER_VERSION_PATCH);
}
