//! Common English words for tasks about words: five to nine letters, many with the same beginning.

pub(super) const WORDS: [&str; 192] = [
    "amber", "anchor", "animal", "answer", "apple", "apron", "arrow", "artist", "autumn", "avenue", "bacon", "badge",
    "basket", "beach", "beacon", "beaver", "bench", "berry", "blanket", "bottle", "bottom", "branch", "bread",
    "breeze", "bridge", "bright", "bubble", "bucket", "butter", "button", "cabin", "cactus", "camel", "camera",
    "candle", "candy", "canvas", "carbon", "carpet", "carrot", "castle", "cellar", "chain", "chair", "charm", "cheese",
    "cherry", "circle", "cliff", "cloud", "clover", "coffee", "copper", "corner", "cotton", "cradle", "crayon",
    "cricket", "dancer", "desert", "dinner", "doctor", "dragon", "drawer", "dream", "eagle", "earth", "elbow",
    "engine", "evening", "fabric", "falcon", "farmer", "feather", "fence", "ferry", "fiddle", "finger", "flame",
    "flower", "forest", "fossil", "fountain", "garden", "garlic", "ginger", "glacier", "glass", "globe", "grape",
    "grass", "gravel", "guitar", "hammer", "harbor", "harvest", "helmet", "honey", "horse", "island", "ivory",
    "jacket", "jungle", "kettle", "kitchen", "ladder", "lantern", "lemon", "letter", "lizard", "magnet", "maple",
    "marble", "market", "meadow", "medal", "melon", "metal", "mirror", "mitten", "monkey", "mountain", "muffin",
    "museum", "napkin", "needle", "north", "ocean", "olive", "onion", "orange", "orchard", "paddle", "palace",
    "panther", "paper", "parade", "parrot", "pebble", "pencil", "pepper", "piano", "pillow", "planet", "plate",
    "pocket", "potato", "puzzle", "rabbit", "radio", "raven", "ribbon", "river", "rocket", "saddle", "salmon",
    "sandal", "school", "season", "shadow", "shell", "shelter", "silver", "sister", "spider", "spring", "station",
    "stone", "storm", "street", "summer", "table", "teacher", "temple", "thunder", "ticket", "tiger", "timber",
    "tomato", "tower", "travel", "tunnel", "turtle", "valley", "velvet", "village", "violin", "wagon", "walnut",
    "water", "whistle", "winter",
];
