//! Records the compiler's version for the figures, and builds the peers in C and C++ that the features `tbb`, `cpp` and `dpdk` ask for.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(thalweg_tbb, thalweg_cpp, thalweg_dpdk)");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=THALWEG_LAB_RUSTC={version}");
    #[cfg(feature = "tbb")]
    cpp("src/peers/tbb.cpp", "thalweg_tbb");
    #[cfg(feature = "cpp")]
    cpp("src/peers/cpp.cpp", "thalweg_cpp");
    #[cfg(feature = "dpdk")]
    dpdk();
}

/// Sets `cfg` if the bridge compiles; otherwise the lab says at run time that the peer is absent, and what it needs. Both bridges use oneTBB.
#[cfg(any(feature = "tbb", feature = "cpp"))]
fn cpp(bridge: &str, cfg: &str) {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).file(bridge).cargo_warnings(false);
    let built = build.try_compile(&format!("{cfg}_bridge")).is_ok();
    if built {
        println!("cargo::rustc-link-lib=tbb");
    }
    found(bridge, cfg, built);
}

/// Sets `cfg(thalweg_dpdk)` if the bridge compiles, with the flags that DPDK's headers want.
#[cfg(feature = "dpdk")]
fn dpdk() {
    const BRIDGE: &str = "src/peers/dpdk.c";
    let flags = Command::new("pkg-config").args(["--cflags", "libdpdk"]).output();
    let flags = flags.ok().filter(|output| output.status.success());
    let built = flags.is_some_and(|flags| {
        let flags = String::from_utf8_lossy(&flags.stdout);
        let mut build = cc::Build::new();
        flags.split_whitespace().fold(&mut build, |build, flag| build.flag(flag));
        build.opt_level(3).file(BRIDGE).cargo_warnings(false).try_compile("thalweg_dpdk_bridge").is_ok()
    });
    if built {
        println!("cargo::rustc-link-lib=rte_ring");
    }
    found(BRIDGE, "thalweg_dpdk", built);
}

#[cfg(any(feature = "tbb", feature = "cpp", feature = "dpdk"))]
fn found(bridge: &str, cfg: &str, built: bool) {
    println!("cargo::rerun-if-changed={bridge}");
    if built {
        println!("cargo::rustc-cfg={cfg}");
    } else {
        println!("cargo::warning=a peer is left out, as {bridge} did not compile: `lab list` says what to install");
        // Tried again in the next build: Cargo cannot tell when a package of the system has come.
        println!("cargo::rerun-if-changed=not-there-yet");
    }
}
