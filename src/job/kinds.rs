//! Configurations that are told apart by `type`, such as those of objectives and of verifiers: from one list of modules
//! the enum of them all, the names that `type` may take, and the one way to read and to write one.

/// Makes `Config`, `KNOWN` and `catalog` from a list of modules, each of which has a `Config` that implements the trait
/// `Settings` of the calling module. `$describe!(module, name)` is what the catalog says of one.
macro_rules! kinds {
    (
        $(#[$doc:meta])*
        $what:literal, $describe:ident: $($variant:ident($module:ident) = $name:literal),+ $(,)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant($module::Config)),+ }

        /// The names that `type` may take.
        pub const KNOWN: &[&str] = &[$($name),+];

        impl Config {
            /// Reads and checks `{"type": ..., ...}`; errors point below `pointer`.
            pub fn parse(value: &serde_json::Value, pointer: &str) -> Result<Self, Vec<$crate::job::FieldError>> {
                use $crate::job::{bounds, field};
                let config = Self::read(value, pointer)?;
                let outside = match config { $(Self::$variant(_) => bounds::of::<$module::Config>(value, pointer)),+ };
                field::all([Err(outside), config.settings().check(pointer)])?;
                Ok(config)
            }

            /// Reads one that was checked before.
            pub fn read(value: &serde_json::Value, pointer: &str) -> Result<Self, Vec<$crate::job::FieldError>> {
                use $crate::job::field;
                let (name, fields) = field::split_type(value, pointer, $what, KNOWN)?;
                match name {
                    $($name => field::parse(&fields, pointer).map(Self::$variant).map_err(|error| vec![error]),)+
                    _ => unreachable!("split_type returns known names only"),
                }
            }

            /// The configuration with every default filled in; reads back as the same configuration.
            pub fn resolved(&self) -> serde_json::Value {
                use $crate::job::field;
                match self { $(Self::$variant(config) => field::with_type($name, config)),+ }
            }

            /// The name that `type` has.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),+ }
            }

            fn settings(&self) -> &dyn Settings {
                match self { $(Self::$variant(config) => config),+ }
            }
        }

        /// All of them, described.
        pub fn catalog() -> &'static [Description] {
            static CATALOG: std::sync::LazyLock<Vec<Description>> =
                std::sync::LazyLock::new(|| vec![$($describe!($module, $name)),+]);
            &CATALOG
        }
    };
}
pub(crate) use kinds;
