//! Envelope and contents of every constructor, by the table of MPI 5.0 §5.1.13, plain and large.

use oxmpi_datatypes::datatype::{Basic, Combiner, Contents, Darray, Datatype, Distribution, Order};

fn check(
    datatype: Datatype,
    combiner: Combiner,
    plain: [&[i64]; 2],
    large: [&[i64]; 2],
    types: &[Datatype],
) {
    let expected = Contents {
        integers: plain[0].to_vec(),
        addresses: plain[1].to_vec(),
        counts: Vec::new(),
        datatypes: types.to_vec(),
    };
    assert_eq!(datatype.contents(), expected, "{combiner:?}");
    let envelope = datatype.envelope();
    assert_eq!(envelope.combiner, combiner);
    assert_eq!(
        (envelope.integers, envelope.addresses),
        (plain[0].len(), plain[1].len())
    );
    assert_eq!((envelope.counts, envelope.datatypes), (0, types.len()));
    let size = datatype.size();
    let wide = datatype.with_large_counts();
    let expected = Contents {
        integers: large[0].to_vec(),
        addresses: Vec::new(),
        counts: large[1].to_vec(),
        datatypes: types.to_vec(),
    };
    assert_eq!(wide.contents(), expected, "{combiner:?} with large counts");
    assert_eq!(
        (wide.size(), wide.envelope().counts),
        (size, large[1].len())
    );
}

#[test]
fn contents_are_the_arguments_in_the_standards_order() {
    let int = Datatype::named(Basic::Int);
    let double = Datatype::named(Basic::Double);
    let one = std::slice::from_ref(&int);
    let none: &[i64] = &[];

    check(
        int.clone(),
        Combiner::Named,
        [none, none],
        [none, none],
        &[],
    );
    check(
        int.dup().unwrap(),
        Combiner::Dup,
        [none, none],
        [none, none],
        one,
    );
    check(
        Datatype::contiguous(3, &int).unwrap(),
        Combiner::Contiguous,
        [&[3], none],
        [none, &[3]],
        one,
    );
    let vector = Datatype::vector(3, 2, -4, &int).unwrap();
    check(
        vector,
        Combiner::Vector,
        [&[3, 2, -4], none],
        [none, &[3, 2, -4]],
        one,
    );
    let hvector = Datatype::hvector(3, 2, 40, &int).unwrap();
    check(
        hvector,
        Combiner::Hvector,
        [&[3, 2], &[40]],
        [none, &[3, 2, 40]],
        one,
    );
    let indexed = Datatype::indexed(&[1, 2], &[5, 7], &int).unwrap();
    check(
        indexed,
        Combiner::Indexed,
        [&[2, 1, 2, 5, 7], none],
        [none, &[2, 1, 2, 5, 7]],
        one,
    );
    let hindexed = Datatype::hindexed(&[1, 2], &[5, 7], &int).unwrap();
    check(
        hindexed,
        Combiner::Hindexed,
        [&[2, 1, 2], &[5, 7]],
        [none, &[2, 1, 2, 5, 7]],
        one,
    );
    let block = Datatype::indexed_block(3, &[5, 9], &int).unwrap();
    check(
        block,
        Combiner::IndexedBlock,
        [&[2, 3, 5, 9], none],
        [none, &[2, 3, 5, 9]],
        one,
    );
    let hblock = Datatype::hindexed_block(3, &[5, 19], &int).unwrap();
    check(
        hblock,
        Combiner::HindexedBlock,
        [&[2, 3], &[5, 19]],
        [none, &[2, 3, 5, 19]],
        one,
    );
    let both = [int.clone(), double];
    let structure = Datatype::structure(&[1, 2], &[0, 8], &both).unwrap();
    check(
        structure,
        Combiner::Struct,
        [&[2, 1, 2], &[0, 8]],
        [none, &[2, 1, 2, 0, 8]],
        &both,
    );
    let resized = Datatype::resized(&int, -4, 12).unwrap();
    check(
        resized,
        Combiner::Resized,
        [none, &[-4, 12]],
        [none, &[-4, 12]],
        one,
    );
    let subarray = Datatype::subarray(&[5, 6], &[2, 3], &[1, 0], Order::Fortran, &int).unwrap();
    let listed: [&[i64]; 2] = [&[2, 5, 6, 2, 3, 1, 0, 15], none];
    check(
        subarray,
        Combiner::Subarray,
        listed,
        [&[2, 15], &[5, 6, 2, 3, 1, 0]],
        one,
    );
}

#[test]
fn contents_of_arrays_and_predefined_types_are_their_arguments() {
    let int = Datatype::named(Basic::Int);
    let none: &[i64] = &[];
    let arguments = Darray {
        size: 6,
        rank: 4,
        gsizes: [9, 8].into(),
        distributions: [Distribution::Block, Distribution::Cyclic].into(),
        arguments: [None, Some(2)].into(),
        psizes: [2, 3].into(),
        order: Order::C,
    };
    let darray = Datatype::darray(arguments, &int).unwrap();
    let plain: [&[i64]; 2] = [&[6, 4, 2, 9, 8, 17, 18, 19, 2, 2, 3, 12], none];
    let large: [&[i64]; 2] = [&[6, 4, 2, 17, 18, 19, 2, 2, 3, 12], &[9, 8]];
    check(
        darray,
        Combiner::Darray,
        plain,
        large,
        std::slice::from_ref(&int),
    );
    let real = Datatype::f90_real(Some(10), None).unwrap();
    check(
        real,
        Combiner::F90Real,
        [&[10, -32766], none],
        [&[10, -32766], none],
        &[],
    );
    let complex = Datatype::f90_complex(None, Some(30)).unwrap();
    check(
        complex,
        Combiner::F90Complex,
        [&[-32766, 30], none],
        [&[-32766, 30], none],
        &[],
    );
    let integer = Datatype::f90_integer(12).unwrap();
    check(
        integer,
        Combiner::F90Integer,
        [&[12], none],
        [&[12], none],
        &[],
    );
    let pair = Datatype::value_index(Basic::Int64, Basic::Int64).unwrap();
    let parts = [Datatype::named(Basic::Int64), Datatype::named(Basic::Int64)];
    check(
        pair,
        Combiner::ValueIndex,
        [none, none],
        [none, none],
        &parts,
    );
}

#[test]
fn commitment_is_the_types_own_and_a_dup_inherits_it() {
    let vector = Datatype::vector(2, 1, 2, &Datatype::named(Basic::Int)).unwrap();
    assert!(!vector.is_committed() && !vector.dup().unwrap().is_committed());
    vector.commit();
    assert!(vector.is_committed() && vector.dup().unwrap().is_committed());
    assert!(!Datatype::contiguous(2, &vector).unwrap().is_committed());
}
