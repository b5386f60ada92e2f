//! Objects instead of numbers: every rank counts words, rank 0 has the table of all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum Order {
    Count { text: String },
    Rest,
}

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let texts = ["the cat and the dog", "the end", ""];
    let order = |rank: u32| match texts.get(rank as usize) {
        Some(text) => Order::Count {
            text: (*text).to_owned(),
        },
        None => Order::Rest,
    };
    let orders: Option<Vec<Order>> =
        (world.rank() == 0).then(|| (0..world.size()).map(order).collect());
    let mut words = BTreeMap::<String, u32>::new();
    if let Order::Count { text } = world.scatter_object(orders.as_deref(), 0)? {
        for word in text.split_whitespace() {
            *words.entry(word.to_owned()).or_default() += 1;
        }
    }
    if let Some(tables) = world.gather_object(&words, 0)? {
        let the: u32 = tables.iter().filter_map(|table| table.get("the")).sum();
        assert_eq!(the, if world.size() > 1 { 3 } else { 2 });
    }
    Ok(())
}
