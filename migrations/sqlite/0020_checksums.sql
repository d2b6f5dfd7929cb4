-- Pages have checksums from here on, which the program gives them (src/store/checksums.rs). A program that does not know
-- them would write pages without, and has to be kept from it, as from any newer database.
pragma user_version = 20;
