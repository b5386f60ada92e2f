//! The page in a real browser: nothing is wider than the window but what scrolls by itself, and
//! everything can be read, light and dark. Where there is no Chromium the test says so and passes.
//!
//! What it saw is kept as `page.png` in the folder that OXMPI_TEST_SCREENSHOTS names.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::html::render;
use super::tests::{crowded, example};

/// A page of frames, each as wide as a window may be.
const FRAMES: &str = include_str!("browser.html");

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser takes seconds; a loaded machine makes that a minute.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first browser in PATH.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |f| f.join(name)));
    all.into_iter().find(|file| file.is_file())
}

/// What the frames tell of a page, a line for each; nothing if the browser does not come up.
fn look(browser: &PathBuf, name: &str, page: &str) -> Option<Vec<String>> {
    let folder = std::env::temp_dir().join(format!("oxmpi-page-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let quoted = serde_json::to_string(page).unwrap().replace("</", "<\\/");
    let frames = folder.join("frames.html");
    std::fs::write(&frames, FRAMES.replacen("PAGE", &quoted, 1)).unwrap();
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args([
            "--window-size=1700,7400",
            "--virtual-time-budget=3000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ));
    if let Some(kept) = std::env::var_os("OXMPI_TEST_SCREENSHOTS") {
        let shot = PathBuf::from(kept).join(format!("{name}.png"));
        command.arg(format!("--screenshot={}", shot.display()));
    }
    let shown = folder.join("shown.html");
    let mut child = command
        .arg(format!("file://{}", frames.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&shown).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = std::fs::read_to_string(&shown).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    let (_, found) = text.split_once("<pre id=\"found\">")?;
    let (found, _) = found.split_once("</pre>")?;
    Some(found.lines().map(str::to_owned).collect())
}

fn value(line: &str, name: &str) -> u32 {
    let mut words = line
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    let (_, value) = words.find(|(key, _)| *key == name).unwrap();
    value.parse().unwrap()
}

#[test]
fn pages_fit_every_window_and_can_be_read() {
    let Some(browser) = browser() else {
        println!("skipped: none of {BROWSERS:?} is in PATH (Debian: apt-get install chromium)");
        return;
    };
    for (name, report) in [("page", crowded()), ("short", example())] {
        let Some(lines) = look(&browser, name, &render(&report)) else {
            println!("skipped: {} does not come up here", browser.display());
            return;
        };
        assert_eq!(lines.len(), 8, "{lines:?}");
        for line in &lines {
            let width: u32 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            assert_eq!(
                value(line, "page"),
                width,
                "the page itself scrolls: {line}"
            );
            assert_eq!(value(line, "beyond"), 0, "boxes are cut off: {line}");
            assert_eq!(value(line, "stuck"), 0, "tables cannot scroll: {line}");
            assert_eq!(value(line, "faint"), 0, "text cannot be read: {line}");
            let is_dark = value(line, "paper") < 10;
            assert_eq!(is_dark, line.starts_with("dark"), "{line}");
            assert!(value(line, "tables") > 0, "{line}");
            if name == "page" && width == 400 {
                assert!(value(line, "scrolling") > 0, "wide tables are cut: {line}");
            }
        }
    }
}
