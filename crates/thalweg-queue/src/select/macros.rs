//! The macros: arms become nested pairs, and what they give a nested `match`.

/// Waits for several ends at once, sleeping, and does what can go on first. See [`select`](mod@crate::select).
///
/// A body is an expression, or a block, behind which no comma is needed. It may `break`, `return` and use `?`; all bodies have one type. A
/// pattern takes whatever the arm gives. An arm with `if` takes part if that is true when the select begins. `default` comes last.
///
/// The value of a `push` is made when the select begins, as any argument is, and dropped if another arm is chosen; `push_from` takes an `Option` and
/// leaves it there.
///
/// ```
/// use thalweg_queue::{mpmc, select};
///
/// let (tx, rx) = mpmc::channel(16)?;
/// let mut next = Some(7);
/// for _ in 0..3 {
///     select! {
///         push_from(tx, next) -> pushed if rx.is_empty() => pushed?,
///         pop(rx) -> item => {
///             assert_eq!(item, Ok(7));
///             break;
///         }
///         default => unreachable!("there is room or an item"),
///     }
/// }
/// assert_eq!(next, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// If no arm takes part and there is no `default`: it would wait for ever.
#[macro_export]
macro_rules! select {
    ($($arms:tt)*) => { $crate::__select!(@arms sync [] $($arms)*) };
}

/// As [`select!`](crate::select!), in an async block: it awaits what can go on first.
///
/// ```
/// use std::time::Duration;
/// use thalweg_queue::{mpmc, select_async};
///
/// # futures_executor::block_on(async {
/// let (tx, rx) = mpmc::channel::<u64>(16).unwrap();
/// let popped = select_async! {
///     pop(rx) -> item => item.ok(),
///     after(Duration::from_millis(1)) => None,
/// };
/// assert_eq!(popped, None);
/// drop(tx);
/// # });
/// ```
#[macro_export]
macro_rules! select_async {
    ($($arms:tt)*) => { $crate::__select!(@arms async [] $($arms)*) };
}

/// What both macros are made of: `@arms` takes arm by arm apart into `{[arm] [pattern] body}`, `@run` puts them together.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@arms $how:ident [$($done:tt)*]) => { $crate::__select!(@run $how [$($done)*] []) };
    (@arms $how:ident [$($done:tt)*] default => $body:expr $(,)?) => {
        $crate::__select!(@run $how [$($done)*] [$body])
    };
    (@arms $how:ident $done:tt pop($rx:expr) -> $pat:pat => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [($rx).to_pop()] [$pat] $($rest)*)
    };
    (@arms $how:ident $done:tt pop($rx:expr) -> $pat:pat if $on:expr => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [if $on { Some(($rx).to_pop()) } else { None }] [$pat] $($rest)*)
    };
    (@arms $how:ident $done:tt push($tx:expr, $value:expr) -> $pat:pat => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [($tx).to_push($value)] [$pat] $($rest)*)
    };
    (@arms $how:ident $done:tt push($tx:expr, $value:expr) -> $pat:pat if $on:expr => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [if $on { Some(($tx).to_push($value)) } else { None }] [$pat] $($rest)*)
    };
    (@arms $how:ident $done:tt push_from($tx:expr, $slot:expr) -> $pat:pat => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [($tx).to_push_from(&mut $slot)] [$pat] $($rest)*)
    };
    (@arms $how:ident $done:tt push_from($tx:expr, $slot:expr) -> $pat:pat if $on:expr => $($rest:tt)*) => {
        $crate::__select!(
            @body $how $done [if $on { Some(($tx).to_push_from(&mut $slot)) } else { None }] [$pat] $($rest)*
        )
    };
    (@arms $how:ident $done:tt after($time:expr) => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [$crate::select::after($time)] [()] $($rest)*)
    };
    (@arms $how:ident $done:tt at($deadline:expr) => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [$crate::select::at($deadline)] [()] $($rest)*)
    };
    (@arms $how:ident $done:tt after($time:expr) if $on:expr => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [if $on { Some($crate::select::after($time)) } else { None }] [()] $($rest)*)
    };
    (@arms $how:ident $done:tt at($deadline:expr) if $on:expr => $($rest:tt)*) => {
        $crate::__select!(@body $how $done [if $on { Some($crate::select::at($deadline)) } else { None }] [()] $($rest)*)
    };
    (@arms $how:ident $done:tt recv $($rest:tt)*) => {
        ::core::compile_error!("`recv(rx) -> item => …` is `pop(rx) -> item => …` here")
    };
    (@arms $how:ident $done:tt send $($rest:tt)*) => {
        ::core::compile_error!("`send(tx, item) -> sent => …` is `push(tx, item) -> pushed => …` here")
    };
    (@arms $how:ident $done:tt default($($time:tt)*) $($rest:tt)*) => {
        ::core::compile_error!("`default(time) => …` is `after(time) => …` here")
    };
    (@arms $how:ident $done:tt default => $body:expr, $($rest:tt)*) => {
        ::core::compile_error!("`default => …` is the last arm")
    };
    (@arms $how:ident $done:tt $($rest:tt)*) => {
        ::core::compile_error!(
            "an arm is `pop(rx) -> item => …`, `push(tx, value) -> pushed => …`, `push_from(tx, slot) -> pushed => …`, `after(time) => …`, \
             `at(instant) => …` or `default => …`; a condition stands before its `=>`: `pop(rx) -> item if ready => …`"
        )
    };
    (@body $how:ident [$($done:tt)*] $arm:tt $pat:tt $body:block , $($rest:tt)*) => {
        $crate::__select!(@arms $how [$($done)* {$arm $pat $body}] $($rest)*)
    };
    (@body $how:ident [$($done:tt)*] $arm:tt $pat:tt $body:block $($rest:tt)*) => {
        $crate::__select!(@arms $how [$($done)* {$arm $pat $body}] $($rest)*)
    };
    (@body $how:ident [$($done:tt)*] $arm:tt $pat:tt $body:expr , $($rest:tt)*) => {
        $crate::__select!(@arms $how [$($done)* {$arm $pat $body}] $($rest)*)
    };
    (@body $how:ident [$($done:tt)*] $arm:tt $pat:tt $body:expr) => {
        $crate::__select!(@arms $how [$($done)* {$arm $pat $body}])
    };
    (@run sync [$($arms:tt)*] []) => {{
        let chosen = $crate::select::sleep($crate::__select!(@list $($arms)*));
        $crate::__select!(@match chosen $($arms)*)
    }};
    (@run async [$($arms:tt)*] []) => {{
        let chosen = $crate::select::Selecting::new($crate::__select!(@list $($arms)*)).await;
        $crate::__select!(@match chosen $($arms)*)
    }};
    (@run $how:ident [$($arms:tt)*] [$default:expr]) => {{
        let chosen = $crate::select::now($crate::__select!(@list $($arms)*));
        match chosen {
            Some(chosen) => $crate::__select!(@match chosen $($arms)*),
            None => $default,
        }
    }};
    (@list) => { () };
    (@list {[$($arm:tt)*] $pat:tt $body:tt} $($more:tt)*) => {
        ({
            #[allow(unused_imports, reason = "an arm is of one of them, or of neither")]
            use $crate::select::{ToPop as _, ToPush as _};
            $($arm)*
        }, $crate::__select!(@list $($more)*))
    };
    (@match $chosen:ident) => { match $chosen {} };
    (@match $chosen:ident {$arm:tt [$pat:pat] $body:tt} $($more:tt)*) => {
        match $chosen {
            $crate::select::Either::First($pat) => $body,
            $crate::select::Either::Later(later) => $crate::__select!(@match later $($more)*),
        }
    };
}
