//! Pieces of arrays (MPI 5.0 §5.1.3, §5.1.4): the constants that C programs give become enums.

use oxmpi_datatypes::datatype::{Darray, Datatype, Distribution, Order};

use super::deliver;
use crate::argument::{Integers, Out};
use crate::call::Call;
use crate::caller::Entry;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::Type;

/// MPI_Type_create_subarray.
pub fn type_create_subarray(
    call: &Call,
    _ndims: usize,
    sizes: Integers,
    subsizes: Integers,
    starts: Integers,
    order: i32,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let (sizes, subsizes, starts) = (sizes.all(), subsizes.all(), starts.all());
    let piece = Datatype::subarray(&sizes, &subsizes, &starts, storage(order)?, oldtype)?;
    deliver(call, piece, &newtype)
}

/// MPI_Type_create_darray.
pub fn type_create_darray(
    call: &Call,
    size: i32,
    rank: i32,
    _ndims: usize,
    gsizes: Integers,
    distribs: &[i32],
    dargs: &[i32],
    psizes: &[i32],
    order: i32,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let distributions = distribs.iter().enumerate();
    let arguments = Darray {
        size: i64::from(size),
        rank: i64::from(rank),
        gsizes: gsizes.all().into(),
        distributions: distributions
            .map(|(dimension, &how)| distribution(dimension, how))
            .collect::<Result<_, _>>()?,
        arguments: dargs
            .iter()
            .map(|&argument| (argument != MPI_DISTRIBUTE_DFLT_DARG).then_some(i64::from(argument)))
            .collect(),
        psizes: psizes.iter().map(|&size| i64::from(size)).collect(),
        order: storage(order)?,
    };
    deliver(call, Datatype::darray(arguments, oldtype)?, &newtype)
}

fn storage(order: i32) -> Result<Order, Failure> {
    match order {
        MPI_ORDER_C => Ok(Order::C),
        MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        _ => {
            let text =
                format!("order is {order}, which is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
            Err(Failure::new(MPI_ERR_ARG, text))
        }
    }
}

fn distribution(dimension: usize, how: i32) -> Result<Distribution, Failure> {
    match how {
        MPI_DISTRIBUTE_NONE => Ok(Distribution::None),
        MPI_DISTRIBUTE_BLOCK => Ok(Distribution::Block),
        MPI_DISTRIBUTE_CYCLIC => Ok(Distribution::Cyclic),
        _ => {
            let entry = Entry("array_of_distribs", dimension);
            let text = format!(
                "{entry} is {how}, which is none of MPI_DISTRIBUTE_BLOCK, \
                 MPI_DISTRIBUTE_CYCLIC and MPI_DISTRIBUTE_NONE"
            );
            Err(Failure::new(MPI_ERR_ARG, text))
        }
    }
}
