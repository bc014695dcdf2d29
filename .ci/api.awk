# Of what `cargo public-api -sss` prints: without the methods of implemented traits, which the traits list, and without the paths of the
# crate itself and of what every reader knows.
/^impl/ { of_trait = / for /; say(); next }
of_trait && /^pub ((unsafe|async|const) )*fn &?(mut )?([a-z_0-9]+::)*[A-Z]/ { next }
of_trait && /^pub (type|const) [^=]*::[^=]*[A-Z>]::[A-Z]|^pub type &?(mut )?[A-Z]/ { next }
of_trait && /^pub type [^=]*[A-Z][a-zA-Z]*(<[^=]*>)?::[A-Z][A-Za-z]* =/ { next }
{ if (!/^pub (type|const|((unsafe|async|const) )*fn) /) of_trait = 0; say() }
function say() {
    gsub(own "::", "")
    gsub(/core::(result|option|marker|fmt|clone|ops::drop|default|time|future::future)::|alloc::(vec|boxed|string)::/, "")
    print
}
