//! Packs the manual pages and completions, which are a tenth of what they are as text, and tells the linker what makes the programs
//! small and quick to start.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for folder in ["man", "completions"] {
        println!("cargo::rerun-if-changed={folder}");
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&std::fs::read(&path)?)?;
            std::fs::write(out.join(name + ".gz"), packed.finish()?)?;
        }
    }
    if is_gnu_here() {
        link_unwinding();
        pack_relocations();
    }
    Ok(())
}

/// Says whether the programs are for this machine, and for the C library of GNU.
fn is_gnu_here() -> bool {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_gnu = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    is_gnu && variable("HOST") == variable("TARGET")
}

/// Has the linker write relative relocations as a bitmap (`DT_RELR`), if the C library here reads them: from 2.36 on. All
/// programs together are a megabyte smaller by that.
fn pack_relocations() {
    let printed = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = printed.ok().and_then(|printed| String::from_utf8(printed.stdout).ok());
    let minor =
        version.and_then(|version| version.trim().strip_prefix("glibc 2.")?.split('.').next()?.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor >= 36) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Links what unwinds the stack into the programs, where the C compiler has it as an archive: a program that needs one
/// library less starts a tenth of a millisecond sooner, which is a thirtieth of what a hook takes.
fn link_unwinding() {
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".into());
    // Where it has none, it prints the bare name.
    let printed = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output();
    let archive = printed.ok().and_then(|printed| String::from_utf8(printed.stdout).ok()).map(PathBuf::from);
    if let Some(folder) = archive.as_deref().filter(|archive| archive.is_absolute()).and_then(Path::parent) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
