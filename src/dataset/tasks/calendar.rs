//! Dates and days of the week in the Gregorian calendar.

use jiff::Span;
use jiff::civil::{Date, Weekday};

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "calendar",
    summary: "Reckon with dates from 1950 to 2049: days of the week, dates some days away, days between dates.",
    difficulty: "the day of the week some days later; from 3 on also dates some days before or after, from 5 days between \
                 two dates, from 7 the nth weekday of a month, from 9 the day of the week of a date; distances up to 20 \
                 days times the square of the difficulty",
    form: Form::Text,
    make,
};

const FIRST_DAY: Date = Date::constant(1950, 1, 1);
/// Days from the first to the last possible one.
const DAYS: u64 = 36_500;
const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let level = i64::from(difficulty);
    let date = after(FIRST_DAY, random.below(DAYS) as i64);
    let distance = random.between(1, 20 * level * level);
    let (prompt, answer) = match random.below(u64::from(difficulty).div_ceil(2)) {
        0 => weekday_later(date, distance),
        1 => date_away(date, if random.coin() { distance } else { -distance }),
        2 => days_between(date, distance),
        3 => nth_weekday(date, random.below(4) as usize, random.below(7) as usize),
        _ => (format!("What day of the week is {date}?"), String::from(named(date.weekday()))),
    };
    Problem { key: prompt.clone(), prompt, answer, columns: Vec::new() }
}

fn weekday_later(date: Date, distance: i64) -> (String, String) {
    let today = named(date.weekday());
    let later = named(after(date, distance).weekday());
    let prompt = format!("The day {date} is a {today}. What day of the week is it {} later?", days(distance));
    (prompt, String::from(later))
}

fn date_away(date: Date, distance: i64) -> (String, String) {
    let direction = if distance < 0 { "before" } else { "after" };
    let prompt = format!("What is the date {} {direction} {date}, as YYYY-MM-DD?", days(distance.abs()));
    (prompt, after(date, distance).to_string())
}

fn days_between(date: Date, distance: i64) -> (String, String) {
    (format!("How many days are there from {date} to {}?", after(date, distance)), distance.to_string())
}

fn nth_weekday(date: Date, nth: usize, weekday: usize) -> (String, String) {
    let (first, wanted) = (date.first_of_month(), weekday as i64);
    let ahead = (wanted - i64::from(first.weekday().to_monday_zero_offset())).rem_euclid(7);
    let answer = after(first, ahead + 7 * nth as i64);
    let month = MONTHS[usize::try_from(date.month()).unwrap_or(1) - 1];
    let (nth, weekday) = (ORDINALS[nth], WEEKDAYS[weekday]);
    (format!("What is the date of the {nth} {weekday} of {month} {}, as YYYY-MM-DD?", date.year()), answer.to_string())
}

fn days(count: i64) -> String {
    format!("{count} day{}", if count == 1 { "" } else { "s" })
}

fn named(weekday: Weekday) -> &'static str {
    WEEKDAYS[usize::try_from(weekday.to_monday_zero_offset()).unwrap_or(0)]
}

fn after(date: Date, days: i64) -> Date {
    date.checked_add(Span::new().days(days)).expect("a few thousand days around this century are dates")
}
