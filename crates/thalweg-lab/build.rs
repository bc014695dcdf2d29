//! Records the compiler's version for the figures, and builds the peers in C and C++ that the features `tbb` and `dpdk` ask for.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(thalweg_tbb, thalweg_dpdk)");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=THALWEG_LAB_RUSTC={version}");
    #[cfg(feature = "tbb")]
    tbb();
    #[cfg(feature = "dpdk")]
    dpdk();
}

/// Sets `cfg(thalweg_tbb)` if the bridge compiles; otherwise the lab says at run time that the peer is absent.
#[cfg(feature = "tbb")]
fn tbb() {
    const BRIDGE: &str = "src/peers/tbb.cpp";
    println!("cargo::rerun-if-changed={BRIDGE}");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).file(BRIDGE).cargo_warnings(false);
    match build.try_compile("thalweg_tbb_bridge") {
        Ok(()) => {
            println!("cargo::rustc-link-lib=tbb");
            println!("cargo::rustc-cfg=thalweg_tbb");
        }
        Err(_) => {
            println!("cargo::warning=the oneTBB peer is left out: {BRIDGE} needs a C++ compiler and oneTBB's headers")
        }
    }
}

/// Sets `cfg(thalweg_dpdk)` if the bridge compiles, with the flags that DPDK's headers want.
#[cfg(feature = "dpdk")]
fn dpdk() {
    const BRIDGE: &str = "src/peers/dpdk.c";
    println!("cargo::rerun-if-changed={BRIDGE}");
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
        println!("cargo::rustc-cfg=thalweg_dpdk");
    } else {
        println!("cargo::warning=the DPDK peer is left out: {BRIDGE} needs a C compiler, pkg-config and libdpdk-dev")
    }
}
