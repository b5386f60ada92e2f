//! What may lie under a file's name in a folder that others can write to.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use oxmpi_trust::{Access, create, would_create};

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oxmpi-trust-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// The error's text, with the folder left out.
fn refusal(folder: &Folder, path: &Path) -> String {
    let text = create(path, Access::Private).unwrap_err().to_string();
    text.replace(&format!("{}/", folder.0.display()), "")
}

#[test]
fn a_file_of_ones_own_is_made_and_emptied() {
    let folder = Folder::new("own");
    let path = folder.file("capture");
    write!(create(&path, Access::Private).unwrap(), "a long first run").unwrap();
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    write!(create(&path, Access::Private).unwrap(), "second").unwrap();
    assert_eq!(
        (fs::read_to_string(&path).unwrap().as_str(), mode(&path)),
        ("second", 0o600)
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    write!(create(&path, Access::Usual).unwrap(), "page").unwrap();
    assert_eq!(mode(&path), 0o644, "permissions that the user chose stay");
}

#[test]
fn trying_leaves_everything_as_it_is() {
    let folder = Folder::new("try");
    let path = folder.file("page");
    would_create(&path, Access::Usual).unwrap();
    assert!(!path.exists(), "nothing is left where nothing was");
    fs::write(&path, "earlier page").unwrap();
    would_create(&path, Access::Usual).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "earlier page");
    let nowhere = folder.file("no/such/page");
    let text = would_create(&nowhere, Access::Usual)
        .unwrap_err()
        .to_string();
    assert!(
        text.ends_with("No such file or directory (os error 2)"),
        "{text}"
    );
    let text = would_create(&folder.0, Access::Usual)
        .unwrap_err()
        .to_string();
    assert!(text.contains(" is a folder, "), "{text}");
}

#[test]
fn links_are_not_followed() {
    let folder = Folder::new("links");
    let (target, path) = (folder.file("target"), folder.file("capture"));
    fs::write(&target, "precious").unwrap();
    symlink(&target, &path).unwrap();
    assert_eq!(
        refusal(&folder, &path),
        "capture is a symbolic link, and is not written to: another user may have prepared it; \
         remove it, or name another file"
    );
    fs::remove_file(&path).unwrap();
    symlink(folder.file("nothing"), &path).unwrap();
    assert!(refusal(&folder, &path).starts_with("capture is a symbolic link"));
    assert!(!folder.file("nothing").exists());
    fs::remove_file(&path).unwrap();
    fs::hard_link(&target, &path).unwrap();
    assert_eq!(
        refusal(&folder, &path),
        "capture is one of 2 names of its file, and is not overwritten: another user may have \
         linked it; remove the name, or name another file"
    );
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn a_pipe_or_folder_is_no_file() {
    let folder = Folder::new("kinds");
    let path = folder.file("capture");
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    assert!(refusal(&folder, &path).starts_with("capture is a named pipe,"));
    // With a reader the pipe can be opened, and is refused all the same.
    let mut reader = Command::new("cat").arg(&path).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(refusal(&folder, &path).starts_with("capture is a named pipe,"));
    reader.kill().unwrap();
    reader.wait().unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refusal(&folder, &path).starts_with("capture is a folder,"));
    assert_eq!(
        refusal(&folder, &folder.file("missing/capture")),
        "missing/capture: No such file or directory (os error 2)"
    );
}

#[test]
fn a_file_of_another_user_is_left_alone() {
    let folder = Folder::new("owner");
    let path = folder.file("capture");
    fs::write(&path, "theirs").unwrap();
    if let Err(error) = chown(&path, Some(65534), None) {
        eprintln!("skipped: giving a file away takes root ({error})");
        return;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(
        refusal(&folder, &path),
        "capture belongs to user 65534 and not to user 0, which runs this program: it is not \
         overwritten; remove it, or name another file"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
}
