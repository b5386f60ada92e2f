//! `#[derive(Plain)]` for the crate `oxmpi`.
//!
//! A `Plain` type may travel between processes as its bytes: every bit pattern is a value and no
//! byte is padding. The derive proves that at compile time for a struct, field by field, and
//! refuses with a sentence what it cannot prove. Users reach it as `oxmpi::Plain`; the reasons for
//! the rules stand on that trait.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Result, parse_macro_input};

/// Implements `oxmpi::Plain` for a `repr(C)`, `repr(C, packed)` or `repr(transparent)` struct whose
/// fields are all `Plain` and that has no padding.
#[proc_macro_derive(Plain)]
pub fn derive_plain(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implement(&input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn implement(input: &DeriveInput) -> Result<Tokens> {
    let fields = fields(input)?;
    require_fixed_layout(input)?;
    require_no_generics(input)?;

    let name = &input.ident;
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let padding = format!(
        "{name} has padding bytes, which have no value to send: reorder the fields, widen one, \
         or name the gap with a field such as `gap: [u8; 4]`"
    );
    let empty = format!("{name} has no bytes, so there would be nothing to send");
    Ok(quote! {
        const _: () = {
            const fn field_is_plain<T: ::oxmpi::Plain>() {}
            #(field_is_plain::<#types>();)*
            assert!(::core::mem::size_of::<#name>() > 0, #empty);
            assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                #padding
            );
        };
        // SAFETY: the constant above does not compile unless every field is Plain and the fields
        // fill the struct without a gap, and the layout attribute fixes their order.
        #[automatically_derived]
        unsafe impl ::oxmpi::Plain for #name {}
        // SAFETY: a borrowed value stays where it is.
        #[automatically_derived]
        unsafe impl ::oxmpi::data::Data for #name {
            type Element = #name;
            #[inline(always)]
            fn memory(&self) -> ::oxmpi::data::Memory {
                ::oxmpi::data::Memory::block(self, 1)
            }
        }
        // SAFETY: as above.
        #[automatically_derived]
        unsafe impl ::oxmpi::data::DataMut for #name {
            #[inline(always)]
            fn memory_mut(&mut self) -> ::oxmpi::data::Memory {
                ::oxmpi::data::Memory::block(self, 1)
            }
        }
    })
}

fn fields(input: &DeriveInput) -> Result<&Fields> {
    match &input.data {
        Data::Struct(data) => Ok(&data.fields),
        Data::Enum(data) => Err(Error::new(
            data.enum_token.span,
            "an enum is not Plain: some bit patterns would be no variant; send its number and convert",
        )),
        Data::Union(data) => Err(Error::new(
            data.union_token.span,
            "a union is not Plain: bytes outside the active field have no value; send a byte array",
        )),
    }
}

/// Two processes must agree where a field lies, and Rust's own layout promises nothing.
fn require_fixed_layout(input: &DeriveInput) -> Result<()> {
    let mut fixed = false;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            // `align(8)` and `packed(2)` carry an argument that has to be stepped over.
            if meta.input.peek(syn::token::Paren) {
                let inner;
                syn::parenthesized!(inner in meta.input);
                inner.parse::<Tokens>()?;
            }
            Ok(())
        })?;
    }
    if fixed {
        return Ok(());
    }
    Err(Error::new(
        input.ident.span(),
        "derive(Plain) needs #[repr(C)] or #[repr(transparent)]: without it the order of the fields is not fixed",
    ))
}

fn require_no_generics(input: &DeriveInput) -> Result<()> {
    if input.generics.params.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        input.generics.params.span(),
        "derive(Plain) cannot prove the absence of padding for every parameter: name a concrete type",
    ))
}
