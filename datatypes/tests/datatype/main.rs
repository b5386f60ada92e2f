//! Datatypes against the standard's definitions: an oracle expands every constructor to the full
//! typemap, and what the library says without expanding anything must agree with it.

mod arrays;
mod contents;
mod external;
mod oracle;
mod predefined;
mod random;
mod speed;
mod wide;
