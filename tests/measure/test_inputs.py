"""Copies of inputs keep what relates them, and share nothing with the originals."""

import torch

from hyperviz.measure.inputs import clone_inputs


def same_memory(one, two):
    return one.untyped_storage().data_ptr() == two.untyped_storage().data_ptr()


def test_aliases_stay_aliases_of_each_other_only():
    base = torch.arange(12.0)
    row, column, other = base.view(3, 4)[1], base.view(3, 4)[:, 2], torch.arange(12.0)
    copies = clone_inputs([base, row, column, other])
    assert all(torch.equal(copy, value) for copy, value in zip(copies, (base, row, column, other), strict=True))
    copies[0].add_(100)
    assert torch.equal(copies[1], row + 100)
    assert torch.equal(copies[2], column + 100)
    assert torch.equal(copies[3], other)
    assert base.max() == 11


def test_strides_and_offsets_are_kept():
    values = [
        torch.randn(4, 6).t(),
        torch.randn(3, 1).expand(3, 5),
        torch.randn(10)[3::2],
        torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
    ]
    for value, copy in zip(values, clone_inputs(values), strict=True):
        assert torch.equal(copy, value)
        assert copy.stride() == value.stride()
        assert copy.storage_offset() == value.storage_offset()
        assert not same_memory(copy, value)


def test_views_in_other_types_share_memory():
    floats = torch.randn(4)
    copies = clone_inputs([floats, floats.view(torch.int32)])
    copies[1].zero_()
    assert copies[0].tolist() == [0.0] * 4


def test_an_input_given_twice_is_one_object():
    value = torch.randn(3)
    one, two, three = clone_inputs([value, value, torch.randn(3)])
    assert one is two
    assert one is not three


def test_parameters_stay_parameters_and_keep_their_flag():
    trained, frozen = torch.nn.Parameter(torch.randn(2)), torch.nn.Parameter(torch.randn(2), requires_grad=False)
    copies = clone_inputs([trained, frozen, torch.randn(2, requires_grad=True), (trained * 2)])
    assert [type(copy) for copy in copies] == [torch.nn.Parameter, torch.nn.Parameter, torch.Tensor, torch.Tensor]
    assert [copy.requires_grad for copy in copies] == [True, False, True, True]
    assert all(copy.is_leaf for copy in copies)


def test_empty_tensors_do_not_share_by_accident():
    one, two = clone_inputs([torch.empty(0), torch.empty(0, dtype=torch.int64)])
    assert (one.dtype, two.dtype) == (torch.float32, torch.int64)


def test_conjugates_sparse_tensors_and_plain_values():
    conjugate, sparse = torch.tensor([1 + 2j]).conj(), torch.eye(3).to_sparse()
    copies = clone_inputs([conjugate, sparse, 3, None, "x"])
    assert copies[0].is_conj()
    assert torch.equal(copies[0], conjugate)
    assert torch.equal(copies[1].to_dense(), torch.eye(3))
    assert copies[2:] == [3, None, "x"]
