/* calendar.c: see calendar.h. Years are counted from March, so that the leap day is the last of
 * its year and months have lengths that a line through them gives. */
#include "calendar.h"

#define DAY          86400
#define DAYS_400     146097 /* of four centuries */
#define DAYS_TO_1970 719468 /* from 1 March of year 0 */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The day number of the first of a month. */
static int64_t days_before(int64_t year, int64_t month)
{
    int64_t from_march = (month + 9) % 12;

    if (month <= 2)
        year--;
    return year * 365 + floor_div(year, 4) - floor_div(year, 100) + floor_div(year, 400) +
           (153 * from_march + 2) / 5 - DAYS_TO_1970;
}

struct calendar calendar_of(int64_t seconds)
{
    int64_t day = floor_div(seconds, DAY), rest = seconds - day * DAY;
    /* A guess that is at most one year too early, then counting: dates are read seldom. */
    int64_t year = floor_div((day + DAYS_TO_1970) * 400, DAYS_400) - 1, month = 1;

    while (days_before(year + 1, 1) <= day)
        year++;
    while (month < 12 && days_before(year, month + 1) <= day)
        month++;
    return (struct calendar){
        .year = (unsigned)year,
        .month = (unsigned)month,
        .day = (unsigned)(day - days_before(year, month)) + 1,
        .hour = (unsigned)(rest / 3600),
        .minute = (unsigned)(rest / 60 % 60),
        .second = (unsigned)(rest % 60),
        .weekday = (unsigned)(day + 4 - floor_div(day + 4, 7) * 7), /* 1970 began on a Thursday */
    };
}

int64_t calendar_seconds(const struct calendar *date)
{
    int64_t month = date->month < 1 ? 1 : date->month > 12 ? 12 : date->month;
    int64_t day = days_before(date->year, month) + date->day - 1;

    return ((day * 24 + date->hour) * 60 + date->minute) * 60 + date->second;
}
