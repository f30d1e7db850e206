package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	computefake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v7"
	networkfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v7/fake"
)

// Fleet is what one subscription holds.
type Fleet struct {
	VirtualMachines   []*armcompute.VirtualMachine         `json:"virtualMachines"`
	ScaleSets         []*armcompute.VirtualMachineScaleSet `json:"scaleSets"`
	NetworkInterfaces []*armnetwork.Interface              `json:"networkInterfaces"`
	// By the resource ID of the scale set.
	ScaleSetInstances  map[string][]*armcompute.VirtualMachineScaleSetVM `json:"scaleSetInstances"`
	ScaleSetInterfaces map[string][]*armnetwork.Interface                `json:"scaleSetInterfaces"`
}

// Resources on a page.
const pageSize = 3

// Pages of a list that does not end: more than any reader should ask for.
const endless = 1000

type route struct {
	path      *regexp.Regexp
	operation string
	// Opens the fake for one request. A fake remembers by path how far a list was read, so readers that share one would
	// miss each other's pages.
	open func() transporter
}

type transporter interface {
	Do(*http.Request) (*http.Response, error)
}

type fleetServer struct{ routes []route }

func newFleetServer(fleet Fleet, endlessPages bool) *fleetServer {
	machines := func() transporter {
		return computefake.NewVirtualMachinesServerTransport(fleet.machines(endlessPages))
	}
	sets := func() transporter {
		return computefake.NewVirtualMachineScaleSetsServerTransport(fleet.scaleSets())
	}
	instances := func() transporter {
		return computefake.NewVirtualMachineScaleSetVMsServerTransport(fleet.instances(endlessPages))
	}
	interfaces := func() transporter {
		return networkfake.NewInterfacesServerTransport(fleet.interfaces(endlessPages))
	}
	group := `^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/`
	compute := group + `Microsoft\.Compute/`
	machine, set := compute+`virtualMachines`, compute+`virtualMachineScaleSets/[^/]+`
	all := `^/subscriptions/[^/]+/providers/`
	page := `(/fake_page_\d+)?$`
	matching := func(path string, operation string, open func() transporter) route {
		return route{path: regexp.MustCompile(path), operation: operation, open: open}
	}
	return &fleetServer{routes: []route{
		matching(machine+page, "VirtualMachinesClient.NewListPager", machines),
		matching(all+`Microsoft\.Compute/virtualMachines`+page, "VirtualMachinesClient.NewListAllPager", machines),
		matching(machine+`/[^/]+/instanceView$`, "VirtualMachinesClient.InstanceView", machines),
		matching(machine+`/[^/]+$`, "VirtualMachinesClient.Get", machines),
		matching(set+`/virtualMachines`+page, "VirtualMachineScaleSetVMsClient.NewListPager", instances),
		matching(group+`microsoft\.Compute/virtualMachineScaleSets/[^/]+/networkInterfaces`+page,
			"InterfacesClient.NewListVirtualMachineScaleSetNetworkInterfacesPager", interfaces),
		matching(set+`$`, "VirtualMachineScaleSetsClient.Get", sets),
		matching(group+`Microsoft\.Network/networkInterfaces`+page, "InterfacesClient.NewListPager", interfaces),
		matching(all+`Microsoft\.Network/networkInterfaces`+page, "InterfacesClient.NewListAllPager", interfaces),
		matching(group+`Microsoft\.Network/networkInterfaces/[^/]+$`, "InterfacesClient.Get", interfaces),
	}}
}

func (f *fleetServer) serve(writer http.ResponseWriter, request *http.Request) {
	for _, route := range f.routes {
		if !route.path.MatchString(request.URL.Path) {
			continue
		}
		response, err := route.answer(request)
		// Answers other than success are errors of the SDK.
		if refused := (*azcore.ResponseError)(nil); errors.As(err, &refused) {
			writeError(writer, refused.StatusCode, refused.ErrorCode, "refused by the stand-in")
			return
		}
		if err != nil {
			log.Printf("%s: %v", route.operation, err)
			writeError(writer, http.StatusInternalServerError, "InternalServerError", err.Error())
			return
		}
		defer response.Body.Close()
		writer.Header().Set("Content-Type", "application/json")
		writer.WriteHeader(response.StatusCode)
		if _, err := io.Copy(writer, response.Body); err != nil {
			log.Print(err)
		}
		return
	}
	writeError(writer, http.StatusNotFound, "InvalidResourceType", "no fake for "+request.URL.Path)
}

// answer reads a list from its start up to the requested page.
func (r route) answer(request *http.Request) (*http.Response, error) {
	first, last := request.URL.Path, 0
	if base, number, isPage := strings.Cut(first, "/fake_page_"); isPage {
		page, err := strconv.Atoi(number)
		if err != nil || page > endless {
			return nil, errors.New("there is no page " + number)
		}
		first, last = base, page
	}
	transport := r.open()
	for page := 0; ; page++ {
		asked := request.Clone(context.WithValue(request.Context(), runtime.CtxAPINameKey{}, r.operation))
		asked.URL.Scheme, asked.URL.Host, asked.URL.Path = "https", request.Host, first
		if page > 0 {
			asked.URL.Path = first + "/fake_page_" + strconv.Itoa(page)
		}
		response, err := transport.Do(asked)
		if err != nil || page == last {
			return response, err
		}
		response.Body.Close()
	}
}

func (f Fleet) machines(endlessPages bool) *computefake.VirtualMachinesServer {
	type listResponse = armcompute.VirtualMachinesClientListResponse
	type allResponse = armcompute.VirtualMachinesClientListAllResponse
	return &computefake.VirtualMachinesServer{
		Get: func(_ context.Context, group string, name string, _ *armcompute.VirtualMachinesClientGetOptions) (ok azfake.Responder[armcompute.VirtualMachinesClientGetResponse], fault azfake.ErrorResponder) {
			if found := find(f.VirtualMachines, group, name); found != nil {
				ok.SetResponse(http.StatusOK, armcompute.VirtualMachinesClientGetResponse{VirtualMachine: *found}, nil)
			} else {
				fault.SetResponseError(http.StatusNotFound, "ResourceNotFound")
			}
			return
		},
		InstanceView: func(_ context.Context, group string, name string, _ *armcompute.VirtualMachinesClientInstanceViewOptions) (ok azfake.Responder[armcompute.VirtualMachinesClientInstanceViewResponse], fault azfake.ErrorResponder) {
			if found := find(f.VirtualMachines, group, name); found != nil && found.Properties.InstanceView != nil {
				ok.SetResponse(http.StatusOK, armcompute.VirtualMachinesClientInstanceViewResponse{VirtualMachineInstanceView: *found.Properties.InstanceView}, nil)
			} else {
				fault.SetResponseError(http.StatusNotFound, "ResourceNotFound")
			}
			return
		},
		NewListPager: func(group string, _ *armcompute.VirtualMachinesClientListOptions) (pages azfake.PagerResponder[listResponse]) {
			addPages(&pages, inGroup(f.VirtualMachines, group), endlessPages, func(items []*armcompute.VirtualMachine) listResponse {
				return listResponse{VirtualMachineListResult: armcompute.VirtualMachineListResult{Value: items}}
			})
			return
		},
		NewListAllPager: func(_ *armcompute.VirtualMachinesClientListAllOptions) (pages azfake.PagerResponder[allResponse]) {
			addPages(&pages, f.VirtualMachines, endlessPages, func(items []*armcompute.VirtualMachine) allResponse {
				return allResponse{VirtualMachineListResult: armcompute.VirtualMachineListResult{Value: items}}
			})
			return
		},
	}
}

func (f Fleet) scaleSets() *computefake.VirtualMachineScaleSetsServer {
	return &computefake.VirtualMachineScaleSetsServer{
		Get: func(_ context.Context, group string, name string, _ *armcompute.VirtualMachineScaleSetsClientGetOptions) (ok azfake.Responder[armcompute.VirtualMachineScaleSetsClientGetResponse], fault azfake.ErrorResponder) {
			if found := find(f.ScaleSets, group, name); found != nil {
				ok.SetResponse(http.StatusOK, armcompute.VirtualMachineScaleSetsClientGetResponse{VirtualMachineScaleSet: *found}, nil)
			} else {
				fault.SetResponseError(http.StatusNotFound, "ResourceNotFound")
			}
			return
		},
	}
}

func (f Fleet) instances(endlessPages bool) *computefake.VirtualMachineScaleSetVMsServer {
	type response = armcompute.VirtualMachineScaleSetVMsClientListResponse
	return &computefake.VirtualMachineScaleSetVMsServer{
		NewListPager: func(group string, name string, _ *armcompute.VirtualMachineScaleSetVMsClientListOptions) (pages azfake.PagerResponder[response]) {
			addPages(&pages, ofScaleSet(f.ScaleSetInstances, group, name), endlessPages, func(items []*armcompute.VirtualMachineScaleSetVM) response {
				return response{VirtualMachineScaleSetVMListResult: armcompute.VirtualMachineScaleSetVMListResult{Value: items}}
			})
			return
		},
	}
}

func (f Fleet) interfaces(endlessPages bool) *networkfake.InterfacesServer {
	type listResponse = armnetwork.InterfacesClientListResponse
	type allResponse = armnetwork.InterfacesClientListAllResponse
	type setResponse = armnetwork.InterfacesClientListVirtualMachineScaleSetNetworkInterfacesResponse
	return &networkfake.InterfacesServer{
		Get: func(_ context.Context, group string, name string, _ *armnetwork.InterfacesClientGetOptions) (ok azfake.Responder[armnetwork.InterfacesClientGetResponse], fault azfake.ErrorResponder) {
			if found := find(f.NetworkInterfaces, group, name); found != nil {
				ok.SetResponse(http.StatusOK, armnetwork.InterfacesClientGetResponse{Interface: *found}, nil)
			} else {
				fault.SetResponseError(http.StatusNotFound, "ResourceNotFound")
			}
			return
		},
		NewListPager: func(group string, _ *armnetwork.InterfacesClientListOptions) (pages azfake.PagerResponder[listResponse]) {
			addPages(&pages, inGroup(f.NetworkInterfaces, group), endlessPages, func(items []*armnetwork.Interface) listResponse {
				return listResponse{InterfaceListResult: armnetwork.InterfaceListResult{Value: items}}
			})
			return
		},
		NewListAllPager: func(_ *armnetwork.InterfacesClientListAllOptions) (pages azfake.PagerResponder[allResponse]) {
			addPages(&pages, f.NetworkInterfaces, endlessPages, func(items []*armnetwork.Interface) allResponse {
				return allResponse{InterfaceListResult: armnetwork.InterfaceListResult{Value: items}}
			})
			return
		},
		NewListVirtualMachineScaleSetNetworkInterfacesPager: func(group string, name string, _ *armnetwork.InterfacesClientListVirtualMachineScaleSetNetworkInterfacesOptions) (pages azfake.PagerResponder[setResponse]) {
			addPages(&pages, ofScaleSet(f.ScaleSetInterfaces, group, name), endlessPages, func(items []*armnetwork.Interface) setResponse {
				return setResponse{InterfaceListResult: armnetwork.InterfaceListResult{Value: items}}
			})
			return
		},
	}
}

func addPages[Item any, Page any](pages *azfake.PagerResponder[Page], items []Item, endlessPages bool, page func([]Item) Page) {
	count := max(1, (len(items)+pageSize-1)/pageSize)
	if endlessPages {
		count = endless
	}
	for index := range count {
		start, end := min(index*pageSize, len(items)), min((index+1)*pageSize, len(items))
		pages.AddPage(http.StatusOK, page(items[start:end]), nil)
	}
}

func find[Item any](items []*Item, group string, name string) *Item {
	for _, item := range inGroup(items, group) {
		if parts := strings.Split(idOf(item), "/"); strings.EqualFold(parts[len(parts)-1], name) {
			return item
		}
	}
	return nil
}

func inGroup[Item any](items []*Item, group string) []*Item {
	var found []*Item
	for _, item := range items {
		if parts := strings.Split(idOf(item), "/"); len(parts) > 4 && strings.EqualFold(parts[4], group) {
			found = append(found, item)
		}
	}
	return found
}

func ofScaleSet[Item any](bySet map[string][]*Item, group string, name string) []*Item {
	suffix := strings.ToLower("/resourceGroups/" + group + "/providers/Microsoft.Compute/virtualMachineScaleSets/" + name)
	for set, items := range bySet {
		if strings.HasSuffix(strings.ToLower(set), suffix) {
			return items
		}
	}
	return nil
}

func idOf(item any) string {
	switch resource := item.(type) {
	case *armcompute.VirtualMachine:
		return *resource.ID
	case *armcompute.VirtualMachineScaleSet:
		return *resource.ID
	case *armnetwork.Interface:
		return *resource.ID
	default:
		return ""
	}
}
