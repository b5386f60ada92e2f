//! Messages of unknown length from unknown ranks: look first, then receive.
//!
//! A matched probe sets the message aside, so that no other thread can receive it in between.

use oxmpi::{ANY_SOURCE, ANY_TAG};

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    if rank > 0 {
        let text = format!("{} bytes and more from rank {rank}", 10 * rank);
        world.send(text.as_bytes(), 0, rank as i32)?;
        return Ok(());
    }
    let mut texts = vec![String::new(); size as usize];
    for _ in 1..size {
        let message = world.matched_probe(ANY_SOURCE, ANY_TAG)?;
        let status = message.status();
        let mut text = vec![0; status.bytes as usize];
        message.recv(&mut text)?;
        assert_eq!(status.tag, status.source as i32);
        texts[status.source as usize] = String::from_utf8_lossy(&text).into_owned();
    }
    for (rank, text) in texts.iter().enumerate().skip(1) {
        assert_eq!(
            *text,
            format!("{} bytes and more from rank {rank}", 10 * rank)
        );
        println!("{text}");
    }
    assert!(world.iprobe(ANY_SOURCE, ANY_TAG)?.is_none());
    Ok(())
}
