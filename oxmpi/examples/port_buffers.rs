//! Port buffers: memory that all processes of the host see, so long messages need one copy or none.
//!
//! Rank 0 sends an image to all others, which look at it where it lies. Between hosts the same
//! program works, and copies.

const PIXELS: usize = 1 << 18;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    if world.rank() == 0 {
        let mut image = mpi.port_buffer::<u32>(PIXELS)?;
        for (i, pixel) in image.iter_mut().enumerate() {
            *pixel = i as u32;
        }
        for viewer in 1..world.size() {
            // Returns when the viewer has let go of the image: it could be changed now.
            world.send(&image, viewer, 0)?;
        }
        println!("{} viewers have seen the image", world.size() - 1);
    } else {
        let image = world.recv_in_place::<u32>(0, 0)?;
        let sum: u64 = image.iter().map(|&pixel| u64::from(pixel)).sum();
        assert_eq!(sum, (PIXELS as u64 - 1) * PIXELS as u64 / 2);
        println!(
            "rank {}: read without a copy: {}",
            world.rank(),
            image.is_zero_copy()
        );
    }
    Ok(())
}
