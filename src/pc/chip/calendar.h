/* calendar.h: dates of the Gregorian calendar and seconds since 1970, without zones. */
#ifndef PC_CHIP_CALENDAR_H
#define PC_CHIP_CALENDAR_H

#include <stdint.h>

struct calendar {
    unsigned year, month, day; /* from 1 */
    unsigned hour, minute, second;
    unsigned weekday; /* 0 is Sunday; only ever worked out */
};

struct calendar calendar_of(int64_t seconds);

/* Values past their range carry over (day 31 of a month of 30); month is brought into 1 to 12. */
int64_t calendar_seconds(const struct calendar *date);

#endif
