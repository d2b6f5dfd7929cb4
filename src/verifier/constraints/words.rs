//! Words, sentences, case and language of a text.

use whatlang::Lang;

/// How often `searched` stands in the text, in either case, wherever in a word.
pub fn occurrences(text: &str, searched: &str) -> usize {
    text.to_lowercase().matches(&searched.to_lowercase()).count()
}

/// Whether a word stands there by itself, in either case.
pub fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    text.match_indices(word.as_str()).any(|(at, _)| {
        let (before, behind) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !before.is_some_and(is_inner) && !behind.is_some_and(is_inner)
    })
}

/// Whether a character is one of a word.
fn is_inner(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How many words there are: runs of letters, digits and underscores, as IFEval counts them.
pub fn count(text: &str) -> usize {
    text.split(|c: char| !is_inner(c)).filter(|word| !word.is_empty()).count()
}

/// How many words have letters and none of them is small.
pub fn capital_words(text: &str) -> usize {
    text.split_whitespace().filter(|word| is_upper(word)).count()
}

pub fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)
}

pub fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)
}

/// How many sentences there are. One ends with `.`, `!`, `?`, an ellipsis or their like of other scripts, and the next
/// begins behind white space with no small letter; a full stop behind an abbreviation or an initial ends none.
pub fn sentences(text: &str) -> usize {
    const ENDS: [char; 4] = ['.', '!', '?', '…'];
    const FULL_WIDTH: [char; 4] = ['。', '！', '？', '।'];
    const CLOSING: [char; 7] = ['"', '\'', ')', ']', '”', '’', '*'];
    let mut count = 0;
    let mut open = false;
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_alphanumeric() {
            open = true;
        }
        if FULL_WIDTH.contains(&c) && open {
            count += 1;
            open = false;
        } else if ENDS.contains(&c) && open {
            while rest.next_if(|next| ENDS.contains(next) || CLOSING.contains(next)).is_some() {}
            let mut after = rest.clone().skip_while(|next| next.is_whitespace());
            let spaced = rest.peek().is_none_or(|next| next.is_whitespace());
            let goes_on = after.next().is_some_and(char::is_lowercase);
            if spaced && !goes_on && !(c == '.' && is_abbreviation(&word)) {
                count += 1;
                open = false;
            }
        }
        if c.is_whitespace() {
            word.clear();
        } else {
            word.push(c);
        }
    }
    count + usize::from(open)
}

/// Whether a full stop behind this word belongs to it: `Dr.`, `e.g.`, `J.`.
fn is_abbreviation(word: &str) -> bool {
    const KNOWN: [&str; 20] = [
        "mr", "mrs", "ms", "dr", "prof", "st", "mt", "jr", "sr", "vs", "etc", "no", "fig", "inc", "ltd", "co", "e.g",
        "i.e", "a.m", "p.m",
    ];
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase) && word != "I";
    initial || KNOWN.contains(&word.to_lowercase().as_str())
}

/// Codes of ISO 639-1; those of 639-3 are whatlang's own.
const SHORT: [(&str, Lang); 68] = [
    ("af", Lang::Afr),
    ("ak", Lang::Aka),
    ("am", Lang::Amh),
    ("ar", Lang::Ara),
    ("az", Lang::Aze),
    ("be", Lang::Bel),
    ("bg", Lang::Bul),
    ("bn", Lang::Ben),
    ("ca", Lang::Cat),
    ("cs", Lang::Ces),
    ("da", Lang::Dan),
    ("de", Lang::Deu),
    ("el", Lang::Ell),
    ("en", Lang::Eng),
    ("eo", Lang::Epo),
    ("es", Lang::Spa),
    ("et", Lang::Est),
    ("fa", Lang::Pes),
    ("fi", Lang::Fin),
    ("fr", Lang::Fra),
    ("gu", Lang::Guj),
    ("he", Lang::Heb),
    ("hi", Lang::Hin),
    ("hr", Lang::Hrv),
    ("hu", Lang::Hun),
    ("hy", Lang::Hye),
    ("id", Lang::Ind),
    ("it", Lang::Ita),
    ("ja", Lang::Jpn),
    ("jv", Lang::Jav),
    ("ka", Lang::Kat),
    ("km", Lang::Khm),
    ("kn", Lang::Kan),
    ("ko", Lang::Kor),
    ("la", Lang::Lat),
    ("lt", Lang::Lit),
    ("lv", Lang::Lav),
    ("mk", Lang::Mkd),
    ("ml", Lang::Mal),
    ("mr", Lang::Mar),
    ("my", Lang::Mya),
    ("nb", Lang::Nob),
    ("ne", Lang::Nep),
    ("nl", Lang::Nld),
    ("no", Lang::Nob),
    ("or", Lang::Ori),
    ("pa", Lang::Pan),
    ("pl", Lang::Pol),
    ("pt", Lang::Por),
    ("ro", Lang::Ron),
    ("ru", Lang::Rus),
    ("si", Lang::Sin),
    ("sk", Lang::Slk),
    ("sl", Lang::Slv),
    ("sr", Lang::Srp),
    ("sv", Lang::Swe),
    ("ta", Lang::Tam),
    ("te", Lang::Tel),
    ("th", Lang::Tha),
    ("tr", Lang::Tur),
    ("uk", Lang::Ukr),
    ("ur", Lang::Urd),
    ("vi", Lang::Vie),
    ("zh", Lang::Cmn),
    ("uz", Lang::Uzb),
    ("yi", Lang::Yid),
    ("tk", Lang::Tuk),
    ("tl", Lang::Tgl),
];

/// The language of a code of ISO 639-1 or 639-3; none where it cannot be told.
pub fn language(code: &str) -> Option<Lang> {
    let code = code.to_lowercase();
    // `zh-cn` is the code of a language and a country.
    let code = code.split(['-', '_']).next().unwrap_or_default();
    let short = SHORT.iter().find(|(short, _)| *short == code).map(|(_, lang)| *lang);
    short.or_else(|| Lang::from_code(code))
}

/// Whether a text is in a language. One without letters is in every language.
pub fn is_in(text: &str, wanted: Lang) -> bool {
    // As much says for certain which language it is.
    const READ: usize = 20_000;
    let read: String = text.chars().take(READ).collect::<String>().to_lowercase();
    whatlang::detect_lang(&read).is_none_or(|found| found == wanted)
}
